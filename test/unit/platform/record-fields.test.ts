import { describe, expect, it } from 'vitest'
import { meterRecordShape } from '../../../services/contract/metering/meter-record.ts'
import { type RecordField, recordFields } from '../../../services/contract/metering/record-fields.ts'
import { schemaFiles } from '../../../services/platform/clickhouse/schemas.ts'
import { publishedSchemas } from '../../../services/platform/log/avro/codec.ts'
import { recordTopic } from '../../../services/platform/log/log.ts'

const fields: readonly RecordField[] = Object.values(recordFields)

type AvroField = { readonly name: string; readonly type: unknown }

/** Return the fields of a named type in an Avro schema; empty if the schema does not define the type. */
const fieldsOf = (schema: unknown, name: string): readonly AvroField[] => {
  if (typeof schema !== 'object' || schema === null) return []
  if ('name' in schema && schema.name === name && 'fields' in schema) return schema.fields as readonly AvroField[]
  return Object.values(schema).flatMap(part => fieldsOf(part, name))
}

/** Name of a type: of an enum its own name, of a logical type the primitive type. */
const typeName = (type: unknown): unknown => {
  if (typeof type !== 'object' || type === null || Array.isArray(type)) return type
  const { type: base, name } = type as { readonly type: unknown; readonly name?: string }
  return base === 'enum' ? name : base
}

describe('the table of record fields', () => {
  it('has the fields of the current Avro schema, in order', () => {
    const current = publishedSchemas().findLast(({ topic }) => topic === recordTopic)
    const published = fieldsOf(JSON.parse(current?.schema ?? '[]'), 'Record').map(({ name, type }) => ({
      name,
      type: typeName(type),
    }))
    expect(published).toEqual([
      ...fields.map(({ avro }) => avro),
      { name: 'recordNumber', type: 'int' },
      { name: 'recordId', type: 'Id' },
    ])
  })

  it('has the columns of the stored table', () => {
    const sql = schemaFiles()
      .filter(file => file.sql.includes('meter_cost\n') || file.sql.includes('ALTER TABLE meter_cost'))
      .map(file => file.sql)
      .join('\n')
    const missing = fields.filter(({ column: { name, type } }) => !sql.includes(` ${name} ${type} `))
    expect(missing).toEqual([])
  })

  it('has the members of a submitted record, apart from its unit and measurand', () => {
    const { measurand: _, units: __, ...members } = meterRecordShape.shape
    const inApi = Object.entries(members).map(([wire, shape]) => ({ wire, isOptional: shape.isOptional() }))
    const byName = (a: { readonly wire: string }, b: { readonly wire: string }) => (a.wire < b.wire ? -1 : 1)
    expect(inApi.toSorted(byName)).toEqual(
      fields.map(({ wire, isOptional }) => ({ wire, isOptional })).toSorted(byName),
    )
  })
})
