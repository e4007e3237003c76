"""Plain sockets, at port 7000. `receive N` takes N connections and prints megabits per second of all together;
`send HOST BYTES` opens one. `ask HOST N` sends N bytes, each after the answer to the one before, and prints the seconds of
the fastest round trip; `answer` answers them."""

import socket
import sys
import threading
import time

PORT = 7000


def receive(count):
    with socket.create_server(("", PORT)) as listener:
        listener.settimeout(30)
        connections = [listener.accept()[0] for _ in range(count)]
    taken = [0] * count
    for connection in connections:
        connection.sendall(b"+")  # all begin together

    def take(index):
        while block := connections[index].recv(1 << 18):
            taken[index] += len(block)

    start = time.monotonic()
    threads = [threading.Thread(target=take, args=[index]) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sum(taken) * 8 / 1e6 / (time.monotonic() - start))


def connect(host):
    deadline = time.monotonic() + 30
    while True:
        try:
            return socket.create_connection((host, PORT), timeout=30)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def send(host, size):
    with connect(host) as connection:
        connection.recv(1)
        connection.sendall(bytes(size))


def answer():
    with socket.create_server(("", PORT)) as server:
        connection, _ = server.accept()
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while word := connection.recv(1):
                connection.sendall(word)


def ask(host, rounds):
    with connect(host) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        times = []
        for _ in range(rounds):
            began = time.perf_counter()
            connection.sendall(b"x")
            connection.recv(1)
            times.append(time.perf_counter() - began)
        print(min(times))


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "receive":
        receive(int(rest[0]))
    elif what == "send":
        send(rest[0], int(rest[1]))
    elif what == "answer":
        answer()
    else:
        ask(rest[0], int(rest[1]))
