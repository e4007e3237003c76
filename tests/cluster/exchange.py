"""Plain sockets. `ask HOST N` sends N bytes, each after the answer to the one before, and prints the seconds of the fastest
round trip; `answer` answers them."""

import socket
import sys
import time

PORT = 7001


def answer():
    with socket.create_server(("", PORT)) as server:
        connection, _ = server.accept()
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while word := connection.recv(1):
                connection.sendall(word)


def ask(host, rounds):
    while True:
        try:
            connection = socket.create_connection((host, PORT))
            break
        except OSError:
            time.sleep(0.1)  # it does not listen yet
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        times = []
        for _ in range(rounds):
            began = time.perf_counter()
            connection.sendall(b"x")
            connection.recv(1)
            times.append(time.perf_counter() - began)
        print(min(times))


if sys.argv[1] == "ask":
    ask(sys.argv[2], int(sys.argv[3]))
else:
    answer()
