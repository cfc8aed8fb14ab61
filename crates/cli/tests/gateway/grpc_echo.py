"""A gRPC server, and a client that asks it through a gateway. Messages are plain bytes: no code is generated."""

import sys
import threading
from concurrent import futures

import grpc

SERVICE = "test.Echo"
PATIENCE = 15


def unary(request, context):
    for key, value in context.invocation_metadata():
        if key == "x-sent":
            context.send_initial_metadata((("x-got", value),))
    context.set_trailing_metadata((("x-end", "trailing"),))
    return b"echo:" + request


def down(request, context):
    for number in range(int(request)):
        yield b"piece %d" % number


def both(requests, context):
    for request in requests:
        yield b"echo:" + request


def fails(request, context):
    context.set_trailing_metadata((("x-why", "metadata"),))
    context.abort(grpc.StatusCode.FAILED_PRECONDITION, "not like this: 100 % sure")


def serve():
    methods = {
        "Unary": grpc.unary_unary_rpc_method_handler(unary),
        "Down": grpc.unary_stream_rpc_method_handler(down),
        "Both": grpc.stream_stream_rpc_method_handler(both),
        "Fails": grpc.unary_unary_rpc_method_handler(fails),
        "Limited": grpc.unary_unary_rpc_method_handler(unary),
    }
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, methods),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    sys.stdin.read()
    server.stop(None)


def ask(address):
    with grpc.insecure_channel(address) as channel:
        def call(name):
            return channel.unary_unary(f"/{SERVICE}/{name}")

        response, end = call("Unary").with_call(b"hello", metadata=(("x-sent", "there"),), timeout=PATIENCE)
        assert response == b"echo:hello", response
        assert dict(end.initial_metadata())["x-got"] == "there", end.initial_metadata()
        assert dict(end.trailing_metadata())["x-end"] == "trailing", end.trailing_metadata()
        print("unary", flush=True)

        large = b"x" * (3 << 20)
        assert call("Unary")(large, timeout=PATIENCE) == b"echo:" + large

        pieces = list(channel.unary_stream(f"/{SERVICE}/Down")(b"100", timeout=PATIENCE))
        assert pieces == [b"piece %d" % number for number in range(100)], pieces
        print("server streaming", flush=True)

        # Each is sent only when the one before has come back.
        turns, came = [], threading.Event()

        def requests():
            for number in range(10):
                yield b"%d" % number
                while len(turns) <= number:
                    came.wait(PATIENCE)
                    came.clear()

        for response in channel.stream_stream(f"/{SERVICE}/Both")(requests(), timeout=PATIENCE):
            turns.append(response)
            came.set()
        assert turns == [b"echo:%d" % number for number in range(10)], turns
        print("both streaming", flush=True)

        try:
            call("Fails")(b"", timeout=PATIENCE)
            raise SystemExit("it did not fail")
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.FAILED_PRECONDITION, error
            assert error.details() == "not like this: 100 % sure", error
            assert dict(error.trailing_metadata())["x-why"] == "metadata", error
        print("status in trailers", flush=True)

        codes = []
        for _ in range(4):
            try:
                call("Limited")(b"", timeout=PATIENCE)
                codes.append("OK")
            except grpc.RpcError as error:
                codes.append(error.code().name)
                assert "exceeded. Retry in " in error.details(), error
                told = dict(error.trailing_metadata())
                assert 0 < int(told["grpc-retry-pushback-ms"]) <= int(told["retry-after"]) * 1000, told
                assert told["x-ratelimit-remaining"] == "0", told
        assert codes == ["OK", "OK", "RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED"], codes
        try:
            call("Unknown")(b"", timeout=PATIENCE)
            raise SystemExit("no operation has this name")
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.UNIMPLEMENTED, error
        print("limited", flush=True)


if __name__ == "__main__":
    serve() if sys.argv[1] == "serve" else ask(sys.argv[2])
