"""The runtime of the client against a scripted server: decimals, retries, lists, webhooks."""

import asyncio
import base64
import hashlib
import hmac
import json
import threading
import time
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, get_overloads

import httpx

from wattledger import (
    ApiError,
    AsyncWattledger,
    ConnectionError,
    Wattledger,
    WattledgerError,
    WebhookVerificationError,
    parse_exact,
    verify_webhook,
    write_exact,
)

NONE: frozenset[str] = frozenset()


@contextmanager
def scripted_service(answers: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    """Open a server with one answer for each request: (status, headers, body), or None for a broken connection."""
    received: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            received.append((self.command, self.path, dict(self.headers)))
            answer = answers[len(received) - 1]
            if answer is None:
                self.connection.close()
                return
            status, headers, body = answer
            content = (body if isinstance(body, str) else json.dumps(body)).encode()
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = answer

        def log_message(self, *_: Any) -> None:
            """Write no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", received
    finally:
        server.shutdown()
        server.server_close()


class Decimals(unittest.TestCase):
    def test_keep_their_text(self) -> None:
        for text in ("0", "-0.5", "1.10", "99999999999.123456", "0.000000001", "12345678901234567890.5"):
            self.assertEqual(write_exact(parse_exact(f'{{"value":{text}}}', NONE)), f'{{"value":{text}}}')

    def test_integers_of_the_api_are_int(self) -> None:
        read = parse_exact('{"limit":5,"value":5,"list":[1]}', frozenset({"limit"}))
        self.assertEqual([type(read["limit"]), type(read["value"]), type(read["list"][0])], [int, Decimal, Decimal])

    def test_refuse_binary_fractions(self) -> None:
        with self.assertRaisesRegex(TypeError, r"Decimal\('0.1'\)"):
            write_exact({"value": 0.1})
        for text in ("NaN", "Infinity"):
            with self.assertRaises(ValueError):
                write_exact({"value": Decimal(text)})


class Retries(unittest.TestCase):
    def test_waits_for_retry_after_and_repeats_a_post_with_its_key(self) -> None:
        refused = (503, {"Retry-After": "1"}, {"code": "unavailable", "message": "Wait."})
        with scripted_service([refused, None, (201, {}, {"id": "cus_1"})]) as (url, received):
            start = time.monotonic()
            with Wattledger(url, "sk_test_0") as client:
                self.assertEqual(client.customer_create({}), {"id": "cus_1"})
            self.assertGreater(time.monotonic() - start, 0.99)
            self.assertEqual(len({headers["Idempotency-Key"] for _, _, headers in received}), 1)
            self.assertEqual(len(received), 3)

    def test_stops_after_the_last_attempt(self) -> None:
        refused = (429, {"Retry-After": "0"}, {"code": "rate_limited", "message": "Slow."})
        with scripted_service([refused] * 3) as (url, received), self.assertRaises(ApiError) as caught:
            Wattledger(url, "sk_test_0", max_attempts=3).account_retrieve()
        self.assertEqual([caught.exception.status, caught.exception.code, len(received)], [429, "rate_limited", 3])

    def test_does_not_wait_longer_than_its_limit(self) -> None:
        with scripted_service([(503, {"Retry-After": "120"}, {})]) as (url, _), self.assertRaises(ApiError) as caught:
            Wattledger(url, "sk_test_0").account_retrieve()
        self.assertEqual(caught.exception.retry_after, 120)

    def test_repeats_after_an_answer_of_a_proxy_that_is_no_error_object(self) -> None:
        for text in ("", "<html>Bad gateway</html>", "null", "[1]"):
            answers = [(502, {}, text), (503, {"Retry-After": "0"}, text), (200, {}, {"id": "acc_1"})]
            with scripted_service(answers) as (url, received):
                self.assertEqual(Wattledger(url, "sk_test_0").account_retrieve(), {"id": "acc_1"})
            self.assertEqual(len(received), 3)
            with scripted_service([(500, {}, text)]) as (url, _), self.assertRaises(ApiError) as caught:
                Wattledger(url, "sk_test_0").account_retrieve()
            self.assertEqual(caught.exception.status, 500)

    def test_does_not_repeat_a_change_after_a_lost_answer(self) -> None:
        for name, words in (("customer_update", ("cus_1", {})), ("customer_delete", ("cus_1",))):
            with scripted_service([None, (200, {}, {})]) as (url, received), self.assertRaises(ConnectionError):
                getattr(Wattledger(url, "sk_test_0"), name)(*words)
            self.assertEqual(len(received), 1)

    def test_renews_a_token_that_is_refused(self) -> None:
        tokens = [(200, {}, {"bearer_token": text, "expires_in": 3600}) for text in ("a", "b")]
        expired = (401, {}, {"code": "token_expired", "message": "The token has expired."})
        with scripted_service([tokens[0], expired, tokens[1], (200, {}, {})]) as (url, received):
            Wattledger(url, "sk_test_0", account_id="acc_1").account_retrieve()
        self.assertEqual([path for _, path, _ in received], ["/login", "/account", "/login", "/account"])
        self.assertEqual(received[3][2]["Authorization"], "Bearer b")

    def test_reports_a_redirection(self) -> None:
        answers = [(302, {"Location": "/other"}, ""), (200, {}, {})]
        with scripted_service(answers) as (url, received), self.assertRaises(ApiError) as caught:
            Wattledger(url, "sk_test_0").account_retrieve()
        self.assertEqual([caught.exception.status, len(received)], [302, 1])

    def test_names_the_address_of_a_success_that_is_not_json(self) -> None:
        page = (200, {}, "<html>Welcome</html>")
        for account_id, words in ((None, "/customers answered GET"), ("acc_1", "/login answered POST")):
            with scripted_service([page, page]) as (url, received), self.assertRaises(WattledgerError) as caught:
                Wattledger(url, "sk_test_0", account_id=account_id).customer_list(limit=2).page()
            self.assertEqual(str(caught.exception), f"{url}{words} with no JSON. Check the base URL.")
            self.assertEqual(len(received), 1)

    def test_names_the_address_of_a_success_that_is_not_json_with_async(self) -> None:
        async def read(url: str) -> None:
            async with AsyncWattledger(url, "sk_test_0") as client:
                await client.account_retrieve()

        with scripted_service([(200, {}, "")]) as (url, received):
            with self.assertRaisesRegex(WattledgerError, "/account answered GET"):
                asyncio.run(read(url))
        self.assertEqual(len(received), 1)

    def test_does_not_repeat_a_request_that_cannot_be_sent(self) -> None:
        for error in (httpx.UnsupportedProtocol("wrong"), httpx.LocalProtocolError("wrong")):
            requests: list[httpx.Request] = []

            def refuse(request: httpx.Request, error: Exception = error, requests: list[Any] = requests) -> Any:
                requests.append(request)
                raise error

            with Wattledger("http://127.0.0.1", "sk_test_0") as client:
                client._http = httpx.Client(transport=httpx.MockTransport(refuse))
                with self.assertRaisesRegex(WattledgerError, "is wrong. It was not sent"):
                    client.account_retrieve()
            self.assertEqual(len(requests), 1)


class Settings(unittest.TestCase):
    def test_need_a_base_url(self) -> None:
        hosts = ["energy.example.com", "ftp://energy.example.com", "http://", "http://a:b", "http://a b"]
        wrong: list[Any] = [None, "", *hosts, "sk_test_0"]
        for make in (Wattledger, AsyncWattledger):
            for base_url in wrong:
                with self.assertRaisesRegex(WattledgerError, "Write http:// or https://") as caught:
                    make(base_url, "sk_test_0")
                self.assertNotIn("sk_test_0", str(caught.exception))

    def test_need_a_key_and_keep_it_secret(self) -> None:
        wrong: list[Any] = [None, "", " \n", "sk_test_ö", "sk_test\n_0", "sk_test_0…"]
        for api_key in wrong:
            with self.assertRaises(WattledgerError) as caught:
                Wattledger("http://127.0.0.1", api_key)
            self.assertEqual(
                str(caught.exception),
                "The API key is missing, or has characters that no key has. Set a key sk_live_… or sk_test_….",
            )

    def test_can_have_white_space_around_them(self) -> None:
        with scripted_service([(200, {}, {})]) as (url, received):
            Wattledger(f" {url}//\n", " sk_test_0\n").account_retrieve()
        _, path, headers = received[0]
        self.assertEqual([path, headers["Authorization"]], ["/account", "Bearer sk_test_0"])


class DryRuns(unittest.TestCase):
    def answers(self, method: Any) -> list[str]:
        return [one.__annotations__["return"] for one in get_overloads(method)]

    def test_have_their_own_type(self) -> None:
        for client in (Wattledger, AsyncWattledger):
            of_both = "types.DryRun | types.Device"
            self.assertEqual(self.answers(client.device_create), ["types.DryRun", "types.Device", of_both])
            self.assertEqual(self.answers(client.device_retrieve), [])

    def test_can_be_in_the_body_of_a_plan(self) -> None:
        first, made, either = self.answers(Wattledger.plan_create)
        self.assertEqual((first, made), ("types.DryRun", either))


class Lists(unittest.TestCase):
    pages = [
        (200, {}, {"has_more": True, "data": [{"id": "c"}, {"id": "b"}]}),
        (200, {}, {"has_more": False, "data": [{"id": "a"}]}),
    ]
    paths = ["/customers?limit=2", "/customers?limit=2&starting_after=b"]

    def test_are_read_page_by_page(self) -> None:
        with scripted_service(self.pages) as (url, received):
            found = [one["id"] for one in Wattledger(url, "sk_test_0").customer_list(limit=2)]
        self.assertEqual([found, [path for _, path, _ in received]], [["c", "b", "a"], self.paths])

    def test_are_read_with_async(self) -> None:
        async def read(url: str) -> list[str]:
            async with AsyncWattledger(url, "sk_test_0") as client:
                return [one["id"] async for one in client.customer_list(limit=2)]

        with scripted_service(self.pages) as (url, received):
            self.assertEqual(asyncio.run(read(url)), ["c", "b", "a"])
        self.assertEqual([path for _, path, _ in received], self.paths)


class Webhooks(unittest.TestCase):
    secret = "whsec_" + base64.b64encode(b"a secret of a webhook endpoint").decode()
    body = '{"type":"price.update","data":{"value":0.1234567890123456}}'

    def headers(self, key: bytes = b"a secret of a webhook endpoint") -> dict[str, str]:
        signed = hmac.new(key, f"evt_1.1767225600.{self.body}".encode(), hashlib.sha256).digest()
        signature = f"v1,AAAA v1,{base64.b64encode(signed).decode()}"
        return {"Webhook-Id": "evt_1", "webhook-timestamp": "1767225600", "webhook-signature": signature}

    def test_accepts_a_delivery_of_the_service(self) -> None:
        event = verify_webhook(self.secret, self.headers(), self.body, now=1767225600)
        self.assertEqual(write_exact(event), self.body)

    def test_refuses_other_deliveries(self) -> None:
        for secret, headers, body, now in (
            (self.secret, self.headers(), self.body + " ", 1767225600),
            ("whsec_" + "A" * 32, self.headers(), self.body, 1767225600),
            (self.secret, self.headers(), self.body, 1767225901),
            (self.secret, {}, self.body, 1767225600),
        ):
            with self.assertRaises(WebhookVerificationError):
                verify_webhook(secret, headers, body, now=now)

    def test_refuses_forged_deliveries_without_a_complete_secret(self) -> None:
        secrets: list[Any] = [None, "", "whsec_", "whsec_!!!!", "whsec_A", "whsec_ö"]
        forged = [(secret, b"") for secret in secrets]
        short = bytes(15)
        for secret, key in [*forged, ("whsec_" + base64.b64encode(short).decode(), short)]:
            with self.assertRaises(WebhookVerificationError) as caught:
                verify_webhook(secret, self.headers(key), self.body, now=1767225600)
            self.assertEqual(
                str(caught.exception), "The secret is missing or incomplete. Set the whsec_… secret of the endpoint."
            )


if __name__ == "__main__":
    unittest.main()
