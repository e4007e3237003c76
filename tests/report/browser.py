"""Headless Chromium, driven by the DevTools protocol over two pipes: no port, no further package."""

import json
import os
import select
import shutil
import subprocess
import tempfile
import time

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-pipe"]


class Browser:
    """One browser with one page. `events` has all events that the browser has sent."""

    def __init__(self, limit=150):
        program = shutil.which("chromium")
        if program is None:
            raise FileNotFoundError("chromium is missing; scripts/install-dependencies test more installs it")
        self.deadline = time.monotonic() + limit
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        here_read, there_write = os.pipe()
        there_read, here_write = os.pipe()
        # Chromium reads at descriptor 3 and writes at 4.
        script = f'exec "$0" "$@" 3<&{there_read} 4>&{there_write}'
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", script, program, *FLAGS, f"--user-data-dir={self.profile.name}", "about:blank"],
            pass_fds=(there_read, there_write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)
        os.close(there_read)
        os.close(there_write)
        self.source, self.sink = here_read, here_write
        self.buffer, self.number, self.events, self.session = b"", 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def close(self):
        os.close(self.sink)
        os.close(self.source)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, 9)
            self.process.wait()
        self.profile.cleanup()

    def read(self):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.source], [], [], max(0, self.deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("Chromium does not answer")
            part = os.read(self.source, 1 << 20)
            if not part:
                raise ConnectionError("Chromium has ended")
            self.buffer += part
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.sink, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, expression):
        """Evaluates a JavaScript expression and waits for its value."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def until(self, expression):
        while not self.evaluate(expression):
            if time.monotonic() > self.deadline:
                raise TimeoutError(expression)
            time.sleep(0.02)

    def window(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def media(self, scheme="light", medium=""):
        self.call("Emulation.setEmulatedMedia", media=medium, features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, path):
        self.call("Page.navigate", url=f"file://{path}")
        self.until("document.documentElement?.dataset.ready !== undefined")

    def complaints(self):
        """The errors and warnings that a user's console would show."""
        found = []
        for event in self.events:
            parameters = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(json.dumps(parameters["exceptionDetails"])[:600])
            if event.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
                found.append(json.dumps(parameters["args"])[:600])
            if event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(parameters["entry"]["text"])
        return found

    def requests(self):
        return [event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"]
