import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { apiVersions } from '../../../../services/contract/api-version.ts'
import { openApiFile, openApiText } from '../../../support/openapi/write-openapi.ts'

it.each(apiVersions)(
  'the stored OpenAPI document of the %s API version equals the document of the operations',
  async apiVersion => {
    const isUnchanged = readFileSync(openApiFile(apiVersion), 'utf8') === (await openApiText(apiVersion))
    expect(
      isUnchanged,
      'run: node test/support/openapi/write-openapi.ts, and read the difference before you keep it',
    ).toBe(true)
  },
)
