"""Plain sockets. `receive N` takes N connections to port 7000 and prints megabits per second of all together;
`send HOST BYTES` opens one."""

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


def send(host, size):
    deadline = time.monotonic() + 30
    while True:
        try:
            connection = socket.create_connection((host, PORT), timeout=30)
            break
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
    connection.recv(1)
    connection.sendall(bytes(size))
    connection.close()


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        receive(int(sys.argv[2]))
    else:
        send(sys.argv[2], int(sys.argv[3]))
