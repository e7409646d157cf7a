"""An answer that ends before its stated length is asked for again."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from coterie.remote import RemoteCollector


class CutOnce(BaseHTTPRequestHandler):
    """Promises a whole answer and hangs up, then gives it."""

    asked = 0

    def do_GET(self):
        type(self).asked += 1
        body = b'{"state": "idle"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if type(self).asked > 1:
            self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing."""


def test_an_answer_that_was_cut_short_is_asked_for_again():
    server = HTTPServer(("127.0.0.1", 0), CutOnce)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        collector = RemoteCollector(f"http://127.0.0.1:{server.server_port}", sleep=lambda _: None)
        assert collector.release_state("a" * 64) == {"state": "idle"}
        collector.disconnect()
    finally:
        server.shutdown()
        server.server_close()
    assert CutOnce.asked == 2
