import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { layouts } from '../../services/contract/layout.ts'
import { openApiFile, openApiText } from '../support/write-openapi.ts'

it.each(layouts)('the kept OpenAPI document of the %s layout says what the operations say', layout => {
  const isKept = readFileSync(openApiFile(layout), 'utf8') === openApiText(layout)
  expect(isKept, 'run: node test/support/write-openapi.ts, and read the difference before you keep it').toBe(true)
})
