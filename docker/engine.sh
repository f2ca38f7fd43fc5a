#!/bin/sh
# What the engine's image runs: fetch the model when it is not in the cache yet, then run it.
#
#   KVARIUM_MODEL        a name that `kvarium models ls` lists, or a folder in transformers' layout (smollm2-135m)
#   KVARIUM_BACKEND      the server (ws://server:8642/api/engine); its token is KVARIUM_ENGINE_TOKEN
#   KVARIUM_ENGINE_ARGS  more options of `kvarium engine`, as written
#   KVARIUM_CACHE        where fetched models are kept
set -eu
model=${KVARIUM_MODEL:-smollm2-135m}
case $model in
  */*) ;;
  *) kvarium models fetch "$model" ;;
esac
# shellcheck disable=SC2086 # split at spaces, as it is written
exec kvarium engine --connect "${KVARIUM_BACKEND:-ws://server:8642/api/engine}" --model "$model" ${KVARIUM_ENGINE_ARGS:-}
