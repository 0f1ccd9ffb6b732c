// Builds the package: types and operations from the OpenAPI documents, then JavaScript and declarations in `dist`.
import { spawnSync } from 'node:child_process'
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@hey-api/openapi-ts'
import { importDecimal, typescriptDocument, typescriptOperations } from '../generate/typescript.ts'

const here = import.meta.dirname
const root = join(here, '../..')

for (const name of ['current', 'earlier']) {
  const document = JSON.parse(readFileSync(join(root, `schemas/openapi/${name}.json`), 'utf8'))
  const folder = join(here, 'src/generated', name)
  await createClient({
    input: typescriptDocument(document),
    output: { path: folder, indexFile: false },
    plugins: ['@hey-api/typescript'],
    logs: { level: 'silent', file: false },
  })
  const types = join(folder, 'types.gen.ts')
  writeFileSync(types, importDecimal(readFileSync(types, 'utf8')))
  writeFileSync(join(folder, 'operations.gen.ts'), typescriptOperations(document))
}

rmSync(join(here, 'dist'), { recursive: true, force: true })
copyFileSync(join(root, 'LICENSE'), join(here, 'LICENSE'))
const compiler = join(here, 'node_modules/typescript/bin/tsc')
const { status } = spawnSync(process.execPath, [compiler, '-p', here], { stdio: 'inherit' })
process.exit(status ?? 1)
