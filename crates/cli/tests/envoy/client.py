"""A client of Envoy's rate limit service. Messages are written and read by hand: no code is generated."""

import sys

import grpc

PATIENCE = 15
CODES = {0: "UNKNOWN", 1: "OK", 2: "OVER_LIMIT"}


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def read(message):
    """The fields of a message, as pairs of a number and a value."""
    at, fields = 0, []

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag = number()
        if tag & 7 == 0:
            fields.append((tag >> 3, number()))
        else:
            length = number()
            fields.append((tag >> 3, message[at : at + length]))
            at += length
    return fields


def first(message, wanted, default=0):
    return next((value for number, value in read(message) if number == wanted), default)


def request(domain, descriptors):
    message = field(1, domain)
    for descriptor in descriptors:
        key, _, value = descriptor.partition("=")
        entry = field(1, key) + field(2, value)
        message += field(2, field(1, entry))
    return message


def status(message):
    limit = first(message, 2, b"")
    code = CODES[first(message, 1)]
    if not limit:
        return code
    reset = first(first(message, 4, b""), 1)
    name = first(limit, 3, b"").decode()
    return f"{code} {first(message, 3)}/{first(limit, 1)} {name} in {reset}"


def main():
    address, *args = sys.argv[1:]
    metadata = []
    if args[0] == "--token":
        metadata = [("authorization", f"Bearer {args[1]}")]
        args = args[2:]
    # Larger than what the server takes.
    channel = grpc.insecure_channel(address, options=[("grpc.max_send_message_length", 1 << 27)])
    rls = channel.unary_unary("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit")
    what, *args = args
    try:
        if what == "check":
            answer = rls(request(args[0], args[1:]), timeout=PATIENCE, metadata=metadata)
            statuses = ", ".join(status(value) for number, value in read(answer) if number == 2)
            print(CODES[first(answer, 1)], f"[{statuses}]")
        elif what == "garbage":
            rls(b"\xff\xff\xff", timeout=PATIENCE)
        elif what == "huge":
            rls(field(1, b"x" * (100 << 20)), timeout=PATIENCE)
        elif what == "health":
            health = channel.unary_unary("/grpc.health.v1.Health/Check")
            answer = health(field(1, "envoy.service.ratelimit.v3.RateLimitService"), timeout=PATIENCE)
            print({1: "SERVING", 2: "NOT_SERVING"}.get(first(answer, 1)))
        elif what == "reflection":
            reflection = channel.stream_stream("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo")
            answer = next(reflection(iter([field(7, "")]), timeout=PATIENCE))
            services = [first(value, 1).decode() for _, value in read(first(answer, 6, b""))]
            print(*sorted(name for name in services if "reflection" not in name))
    except grpc.RpcError as error:
        print(error.code().name, error.details() if what == "check" else "")


main()
