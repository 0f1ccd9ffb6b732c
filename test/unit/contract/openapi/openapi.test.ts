import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { fields, oneOf, optional, text } from '../../../../services/contract/field.ts'
import { openApiDocument } from '../../../../services/contract/openapi/openapi.ts'
import { defineOperation, type Operation } from '../../../../services/contract/operation.ts'
import { readShape } from '../../../../services/contract/read-shape.ts'
import * as account from '../../../../services/contract/registry/account.ts'
import * as customer from '../../../../services/contract/registry/customer.ts'
import { inlineReferences } from '../../../support/openapi/json-schema.ts'

const renamed = defineOperation({
  id: 'price_retrieve',
  summary: 'Prices',
  description: 'Prices.',
  tag: 'Prices',
  access: 'read',
  routes: {
    current: [{ method: 'POST', path: '/prices/{id}' }],
    earlier: [{ method: 'GET', path: '/tariffs/rates/{id}', bodyInQuery: { numbers: [] } }],
  },
  body: fields({ tariff_direction: optional(oneOf('IMPORT', 'EXPORT')), end_time: text() }),
  answer: {
    name: 'Price',
    shape: z.object({
      object: z.literal('price'),
      data: z.array(z.object({ price: z.object({ value: z.number() }) })),
    }),
  },
  status: 200,
  renames: {
    body: [{ current: 'tariff_direction', earlier: 'direction' }],
    answer: [
      { current: 'object', earlier: 'object', values: { price: 'tariff_rate' } },
      { current: 'data.price.value', earlier: 'data.tariff.rate' },
      { earlier: 'carbon_units', constant: 'gCO2eq' },
    ],
  },
})

const operations: readonly Operation[] = [
  account.accountLogin,
  account.accountRetrieve,
  customer.customerCreate,
  customer.customerList,
  customer.customerRetrieve,
  customer.customerUpdate,
  customer.customerDelete,
  renamed,
]

type Document = {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly operationId: string
            readonly parameters: readonly object[]
            readonly responses: object
            readonly requestBody?: object
          }
        >
      >
    >
  >
  readonly components: Readonly<Record<string, Readonly<Record<string, object>>>>
}

const describeApiVersion = async (apiVersion: 'current' | 'earlier') =>
  (await openApiDocument(operations, apiVersion, 'http://localhost:8080', () => Promise.resolve())) as Document

const documents = { current: await describeApiVersion('current'), earlier: await describeApiVersion('earlier') }

describe.each(['current', 'earlier'] as const)('the OpenAPI document of the %s API version', apiVersion => {
  const document = documents[apiVersion]

  it('resolves each reference and has each operation id once', () => {
    const text = JSON.stringify(document)
    for (const [, reference = ''] of text.matchAll(/"\$ref":"#\/components\/(\w+\/\w+)"/g)) {
      const [kind = '', name = ''] = reference.split('/')
      expect(document.components[kind]?.[name], reference).toBeDefined()
    }
    const ids = Object.values(document.paths).flatMap(path =>
      Object.values(path).map(operation => operation.operationId),
    )
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('documents every path parameter, the success and the errors of each operation', () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const operation of Object.values(methods)) {
        for (const [, name] of path.matchAll(/\{(\w+)\}/g))
          expect(operation.parameters).toContainEqual(expect.objectContaining({ in: 'path', name }))
        expect(Object.keys(operation.responses)).toEqual(
          expect.arrayContaining([apiVersion === 'current' ? '400' : '409', '401', '503']),
        )
      }
    }
  })
})

describe('the documents', () => {
  it('have the paths, fields and enum values of their API version', () => {
    const { current, earlier } = documents
    expect(inlineReferences(current.paths['/prices/{id}']?.['post']?.requestBody, current)).toMatchObject({
      content: {
        'application/json': { schema: { properties: { tariff_direction: {}, end_time: {} }, required: ['end_time'] } },
      },
    })
    expect(earlier.paths['/prices/{id}']).toBeUndefined()
    const parameters = earlier.paths['/tariffs/rates/{id}']?.['get']?.parameters
    expect(parameters).toContainEqual(expect.objectContaining({ in: 'query', name: 'direction', required: false }))
    expect(parameters).toContainEqual(expect.objectContaining({ in: 'query', name: 'end_time', required: true }))
    expect(parameters).not.toContainEqual(expect.objectContaining({ name: 'tariff_direction' }))
    const items = { properties: { tariff: { properties: { rate: { type: 'number' } }, required: ['rate'] } } }
    expect(inlineReferences(earlier.components['schemas']?.['Price'], earlier)).toMatchObject({
      properties: { object: { const: 'tariff_rate' }, carbon_units: { const: 'gCO2eq' }, data: { items } },
    })
    expect(JSON.stringify(inlineReferences(earlier.components['schemas']?.['Price'], earlier))).not.toContain('"price"')
  })

  it('have examples that the shapes accept', () => {
    for (const operation of operations) {
      if (operation.body instanceof z.ZodType && operation.examples?.body !== undefined) {
        expect(readShape(operation.body, operation.examples.body, 'body')).toMatchObject({ ok: true })
      }
      if (operation.examples?.answer !== undefined)
        expect(operation.answer.shape.parse(operation.examples.answer)).toBeDefined()
    }
  })
})
