import { mkdirSync, writeFileSync } from 'node:fs'
import { type ApiVersion, apiVersions } from '../../../services/contract/api-version.ts'
import { openApiDocument } from '../../../services/contract/openapi/openapi.ts'
import { operations } from '../../../services/operations.ts'

const folder = new URL('../../../schemas/openapi/', import.meta.url)

/** Path of the OpenAPI document of an API version. */
export const openApiFile = (apiVersion: ApiVersion): URL => new URL(`${apiVersion}.json`, folder)

/** Return the text of the OpenAPI document of an API version. */
export const openApiText = async (apiVersion: ApiVersion): Promise<string> =>
  `${JSON.stringify(await openApiDocument(operations, apiVersion, '/', () => Promise.resolve()), null, 2)}\n`

if (import.meta.main) {
  mkdirSync(folder, { recursive: true })
  for (const apiVersion of apiVersions) writeFileSync(openApiFile(apiVersion), await openApiText(apiVersion))
}
