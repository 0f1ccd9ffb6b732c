import { mkdirSync, writeFileSync } from 'node:fs'
import { type Layout, layouts } from '../../services/contract/layout.ts'
import { openApiDocument } from '../../services/contract/openapi.ts'
import { operations } from '../../services/contract/operations.ts'

const folder = new URL('../../schemas/openapi/', import.meta.url)

/** The file that keeps the document of a layout. */
export const openApiFile = (layout: Layout): URL => new URL(`${layout}.json`, folder)

/** Write the OpenAPI document of a layout as its file has it. */
export const openApiText = (layout: Layout): string => `${JSON.stringify(openApiDocument(operations, layout, '/'), null, 2)}\n`

if (import.meta.main) {
  mkdirSync(folder, { recursive: true })
  for (const layout of layouts) writeFileSync(openApiFile(layout), openApiText(layout))
}
