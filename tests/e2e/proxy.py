"""A wire between CLI and editor that can be cut: forwards one port to another on this machine."""

from __future__ import annotations

import socket
import struct
import threading


class Proxy:
    """`port` leads to `target`; `cut` breaks off the next frame of a stream in its middle."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._cutting = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        self._cutting.set()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._target))
            for way in (self._to_server, self._to_client):
                threading.Thread(target=way, args=(client, server), daemon=True).start()

    def _to_server(self, client: socket.socket, server: socket.socket) -> None:
        # The server answers only to its own name.
        names = (b":%d" % self.port, b":%d" % self._target)
        try:
            while True:
                data = client.recv(65536)
                if not data:
                    break
                server.sendall(data.replace(*names))
        except OSError:
            pass
        server.close()

    def _to_client(self, client: socket.socket, server: socket.socket) -> None:
        is_stream = False
        try:
            while True:
                data = server.recv(65536)
                if not data:
                    break
                is_stream = is_stream or b"text/event-stream" in data
                if is_stream and b"data:" in data and self._cutting.is_set():
                    self._cutting.clear()
                    client.sendall(data[: len(data) // 2])
                    # A reset, as when a machine goes away.
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    # The other way's thread has to let go of it first.
                    client.shutdown(socket.SHUT_RD)
                    break
                client.sendall(data)
        except OSError:
            pass
        client.close()
