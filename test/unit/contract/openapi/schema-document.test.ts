import { expect, it } from 'vitest'
import { z } from 'zod'
import { schemaInApiVersion, schemaOf } from '../../../../services/contract/openapi/schema-document.ts'

it('a renamed member is required if it is in every value, and optional if an object on its path is optional', () => {
  const requiredOf = (shape: z.ZodType) =>
    schemaInApiVersion(schemaOf(shape), [{ current: 'tariff.cost', earlier: 'tariff' }], 'earlier')['required']
  const tariff = z.object({ cost: z.number() })
  expect(requiredOf(z.object({ id: z.string(), tariff }))).toEqual(['id', 'tariff'])
  expect(requiredOf(z.object({ id: z.string(), tariff: tariff.optional() }))).toEqual(['id'])
})
