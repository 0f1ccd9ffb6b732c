#!/bin/sh
# Writes the generated code of the Python client. Needs Node 20 or newer, which installs Node 24, and the packages of requirements.txt.
set -eu
cd "$(dirname "$0")"
node ../../deploy/setup.mjs --omit=dev
../../node_modules/.bin/node ../generate/write-python.ts
touch wattledger/generated/__init__.py
for version in current earlier; do
  folder=wattledger/generated/$version
  "${PYTHON:-python3}" -m datamodel_code_generator --input "$folder/document.json" --input-file-type openapi \
    --output "$folder/types.py" --output-model-type typing.TypedDict --target-python-version 3.11 \
    --enum-field-as-literal all --use-union-operator --use-standard-collections --disable-timestamp \
    --formatters builtin --openapi-scopes schemas
  rm "$folder/document.json"
done
cp ../../LICENSE LICENSE
