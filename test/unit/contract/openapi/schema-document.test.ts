import { expect, it } from 'vitest'
import { z } from 'zod'
import { schemaInApiVersion, schemaOf } from '../../../../services/contract/openapi/schema-document.ts'

it('a renamed member is required where it is there in every value, and not where something above it may be left out', () => {
  const requiredOf = (shape: z.ZodType) =>
    schemaInApiVersion(schemaOf(shape), [{ current: 'tariff.cost', earlier: 'tariff' }], 'earlier')['required']
  const tariff = z.object({ cost: z.number() })
  expect(requiredOf(z.object({ id: z.string(), tariff }))).toEqual(['id', 'tariff'])
  expect(requiredOf(z.object({ id: z.string(), tariff: tariff.optional() }))).toEqual(['id'])
})
