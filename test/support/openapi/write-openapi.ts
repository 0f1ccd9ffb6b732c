import { mkdirSync, writeFileSync } from 'node:fs'
import { type ApiVersion, apiVersions } from '../../../services/contract/api-version.ts'
import { openApiDocument } from '../../../services/contract/openapi/openapi.ts'
import { operations } from '../../../services/contract/openapi/operations.ts'

const folder = new URL('../../../schemas/openapi/', import.meta.url)

/** The file that keeps the document of a layout. */
export const openApiFile = (apiVersion: ApiVersion): URL => new URL(`${apiVersion}.json`, folder)

/** Write the OpenAPI document of a layout as its file has it. */
export const openApiText = (apiVersion: ApiVersion): string =>
  `${JSON.stringify(openApiDocument(operations, apiVersion, '/'), null, 2)}\n`

if (import.meta.main) {
  mkdirSync(folder, { recursive: true })
  for (const apiVersion of apiVersions) writeFileSync(openApiFile(apiVersion), openApiText(apiVersion))
}
