import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Document } from './document.ts'
import { pythonDocument, pythonOperations } from './python.ts'

// Writes the operations of the Python client, and the documents from which datamodel-code-generator writes the types.
const root = join(import.meta.dirname, '../..')

for (const name of ['current', 'earlier']) {
  const document = JSON.parse(readFileSync(join(root, `schemas/openapi/${name}.json`), 'utf8')) as Document
  const folder = join(root, 'clients/python/wattledger/generated', name)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, '__init__.py'), '')
  writeFileSync(join(folder, 'document.json'), JSON.stringify(pythonDocument(document)))
  writeFileSync(join(folder, 'operations.py'), pythonOperations(document))
}
