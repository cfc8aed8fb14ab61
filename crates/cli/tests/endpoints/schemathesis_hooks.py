"""Whole numbers are sent without a fraction: to JSON Schema `7.0` is an integer, and to this API it is an error."""

import schemathesis


def whole(value):
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: whole(member) for name, member in value.items()}
    if isinstance(value, list):
        return [whole(item) for item in value]
    return value


@schemathesis.hook
def map_body(context, body):
    return whole(body)
