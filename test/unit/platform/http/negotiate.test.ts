import { describe, expect, it } from 'vitest'
import type { Operation } from '../../../../services/contract/operation.ts'
import { operations } from '../../../../services/operations.ts'
import { negotiateFormat } from '../../../../services/platform/http/negotiate.ts'

const named = (id: string): Operation => {
  const found = operations.find(operation => operation.id === id)
  if (found === undefined) throw new Error(`There is no operation ${id}.`)
  return found
}

const chosen = (id: string, accept: string | null): string => {
  const format = negotiateFormat(named(id), accept)
  if (!format.ok) return `${format.refusal.code}: ${format.refusal.message}`
  const { wantsCsv, tableFormat } = format.value
  return tableFormat ?? (wantsCsv ? 'csv' : 'default')
}

const browserAccept = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'

describe('the format of an answer', () => {
  it.each(operations.map(operation => operation.id))('of %s is the default one for every usual client', id => {
    for (const accept of [null, '', ' ', '*/*', '*/*;q=0.1', browserAccept, 'application/json, text/plain, */*'])
      expect([accept, chosen(id, accept)]).toEqual([accept, 'default'])
  })

  it.each(operations.filter(operation => operation.cors !== true).map(operation => operation.id))(
    'of %s is refused with the list of its formats, if it has none of the accepted ones',
    id => {
      for (const accept of ['application/pdf', 'image/*', 'json', '*/*;q=0', 'application/jsonp']) {
        expect(chosen(id, accept)).toMatch(/^not_acceptable: Send Accept with (application|text)\/[a-z]/)
      }
    },
  )

  it.each([
    ['customer_retrieve', 'application/json', 'default'],
    ['customer_retrieve', 'APPLICATION/JSON; charset=utf-8', 'default'],
    ['customer_retrieve', 'application/*', 'default'],
    ['meter_record_list', 'text/csv', 'csv'],
    ['meter_record_list', 'text/*', 'csv'],
    ['meter_record_list', 'text/csv;q=0.5, application/json', 'default'],
    ['meter_record_list', 'text/csv, application/json;q=0.5', 'csv'],
    ['meter_record_list', 'text/csv, application/json', 'csv'],
    ['meter_record_list', 'application/json, text/csv', 'default'],
    ['meter_record_list', 'text/csv, */*', 'csv'],
    ['meter_record_list', '*/*, text/csv;q=0.5', 'default'],
    ['meter_record_list', 'application/vnd.apache.parquet', 'parquet'],
    ['meter_record_list', 'application/vnd.apache.parquet;q=0.1, application/x-ndjson;q=0.2', 'ndjson'],
    ['meter_record_list', 'application/json;q=0, */*', 'csv'],
    ['interval_cost_calculate', 'text/csv', 'csv'],
    ['connect_step', 'text/html', 'default'],
  ])('of %s for %s is %s', (id, accept, expected) => {
    expect(chosen(id, accept)).toBe(expected)
  })

  it('is named in the refusal', () => {
    expect(chosen('customer_retrieve', 'text/csv')).toBe(
      'not_acceptable: Send Accept with application/json: this operation has no other format',
    )
  })
})
