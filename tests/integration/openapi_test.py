#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the server answers is what openapi.json says: the statuses that it lists, and members of JSON that its schemas have."""

import http.client
import json
import re
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import Server, check, make_stream, run_all, wait_until  # noqa: E402

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}
EXAMPLE = {"/v1/transcode/{path}": "/v1/transcode/sync-720p.mp4", "/v1/live/{name}": "/v1/live/cam", "/v1/streams/{id}": "/v1/streams/7",
           "/v1/streams/{id}/seams": "/v1/streams/7/seams", "/v1/streams/{id}/trace": "/v1/streams/7/trace", "/v1/explain/{path}": "/v1/explain/sync-720p.mp4",
           "/v1/hls/{path}": "/v1/hls/sync-720p.mp4/master.m3u8", "/v1/dash/{path}": "/v1/dash/sync-720p.mp4/manifest.mpd",
           "/assets/{file}": "/assets/page.js"}


def resolved(document, schema):
    while "$ref" in schema:
        found = document
        for step in schema["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        schema = found
    return schema


def members(document, schema):
    """Of an object: its properties, those of all its parts."""
    schema = resolved(document, schema)
    found = dict(schema.get("properties", {}))
    for part in schema.get("allOf", []):
        found.update(members(document, part))
    return found


def faults(document, schema, value, place=""):
    """The parts of `value` that the schema does not have, by their place."""
    schema = resolved(document, schema)
    if "oneOf" in schema:
        each = [faults(document, one, value, place) for one in schema["oneOf"]]
        return min(each, key=len)
    names = schema.get("type", "object" if "allOf" in schema else [])
    kinds = tuple(kind for name in ([names] if isinstance(names, str) else names)
                  for kind in (TYPES[name] if isinstance(TYPES[name], tuple) else (TYPES[name],)))
    if kinds and (not isinstance(value, kinds) or isinstance(value, bool) and bool not in kinds):
        return [f"{place} is {value!r}"]
    if isinstance(value, list):
        return [fault for each in value for fault in faults(document, schema["items"], each, place + "[]")]
    if not isinstance(value, dict):
        return []
    known, rest = members(document, schema), schema.get("additionalProperties")
    found = [f"{place}.{name} is missing" for name in schema.get("required", []) if name not in value]
    for name, member in value.items():
        if name in known or isinstance(rest, dict):
            found += faults(document, known.get(name, rest), member, f"{place}.{name}")
        elif rest is not True:
            found.append(f"{place}.{name} is not in the schema")
    return found


def fits(document, path, answer, method="get"):
    schema = document["paths"][path][method]["responses"]["200"]["content"]["application/json"]["schema"]
    found = sorted(set(faults(document, schema, json.loads(answer))))
    check(not found, f"{path}: {found[:10]}")


def answers_have_the_members_of_the_document(folder):
    cam = Path(make_stream(folder, "cam.ts", 4)).read_bytes()
    with Server() as server:
        document = json.loads(server.get("/openapi.json")[1])
        fits(document, "/v1/sources", server.get("/v1/sources")[1])
        fits(document, "/v1/explain/{path}", server.get("/v1/explain/sync-720p.mp4?width=321")[1])
        # It stays until its stream is deleted, so that the source stays in the list.
        reader = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        reader.request("GET", "/v1/transcode/live/cam?width=160&preset=ultrafast&container=ts")
        wait_until(lambda: server.running(), 10, "no reader")
        fits(document, "/v1/live/{name}", server.get("/v1/live/cam", "PUT", body=cam)[1], "put")
        live = server.get("/v1/live")[1]
        check(json.loads(live)["live"], "no live source")
        fits(document, "/v1/live", live)
        server.get("/v1/transcode/sync-720p.mp4?width=321&duration=1&preset=ultrafast")
        streams = server.get("/v1/streams")[1]
        fits(document, "/v1/streams", streams)
        for stream in json.loads(streams)["streams"]:
            check(server.get(f"/v1/streams/{stream['id']}", "DELETE")[0].status in (204, 404), "DELETE")
            fits(document, "/v1/streams/{id}", server.get(f"/v1/streams/{stream['id']}")[1])
            fits(document, "/v1/streams/{id}/seams", server.get(f"/v1/streams/{stream['id']}/seams")[1])
            fits(document, "/v1/streams/{id}/trace", server.get(f"/v1/streams/{stream['id']}/trace")[1])
        fits(document, "/v1/workers", server.get("/v1/workers")[1])
        check(reader.getresponse().status == 200, "the reader")
        reader.close()


def statuses_are_those_of_the_document(_folder):
    """Of wrong requests: an unknown parameter, a body that is nothing."""
    with Server() as server:
        document = json.loads(server.get("/openapi.json")[1])
        for path, item in document["paths"].items():
            for method in set(item) & {"get", "head", "put", "post", "delete"}:
                for query in ("", "?nonsense=1", "?class=none"):
                    answer, _ = server.get(EXAMPLE.get(path, path) + query, method.upper(), body=b"x" if method in ("put", "post") else None)
                    check(str(answer.status) in item[method]["responses"], f"{method} {path}{query}: {answer.status}")
        check(server.get("/v1/explain/sync-720p.mp4?class=none")[0].status == 400, "a plan with a class that there is not")


def values_are_those_of_the_document(_folder):
    with Server() as server:
        parameters = json.loads(server.get("/openapi.json")[1])["components"]["parameters"]

        def refused(name, value):
            answer, body = server.get(f"/v1/explain/sync-720p.mp4?{name}={value}")
            # A track that the movie does not have is refused in other words.
            return answer.status == 400 and "The value" in json.loads(body)["detail"]

        for name in ("width", "height"):
            low, high = parameters[name]["schema"]["minimum"], parameters[name]["schema"]["maximum"]
            got = [refused(name, value) for value in (low - 1, low, high, high + 1)]
            check(got == [True, False, False, True], f"{name} from {low} to {high}: {got}")
        pattern = parameters["audio"]["schema"]["anyOf"][1]["pattern"]
        for tracks in ("0", "1", "9", "10", "59", "60", "64", "65", "70", "99", "100", "1,64", "1,65"):
            known = re.fullmatch(pattern, tracks) is not None
            check(known != refused("audio", tracks), f"audio={tracks}: {known} in the document")


def main():
    with tempfile.TemporaryDirectory() as folder:
        return run_all([answers_have_the_members_of_the_document, statuses_are_those_of_the_document,
                        values_are_those_of_the_document], folder)


if __name__ == "__main__":
    sys.exit(main())
