import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { openCodec, publishedSchemas } from '../../services/platform/log/avro/codec.ts'
import type { SchemaIds } from '../../services/platform/log/avro/schema-ids.ts'

export const readingSchema = (fields: readonly string[]): string =>
  JSON.stringify({
    type: 'record',
    name: 'Reading',
    fields: fields.map(name => ({ name, type: 'string', default: '' })),
  })

/** Source of schema numbers. `again` is a second process. */
export const describeSchemaIds = (
  name: string,
  make: () => Promise<{ readonly ids: SchemaIds; readonly again: () => SchemaIds }>,
): void => {
  describe(name, () => {
    let ids: SchemaIds
    let again: () => SchemaIds
    beforeAll(async () => {
      ;({ ids, again } = await make())
    })

    it('returns one number per schema, equal in every process, and the schema of a number', async () => {
      const subject = `subject-${randomUUID()}`
      const schema = readingSchema(['value'])
      const id = await ids.register(subject, schema)
      expect(Number.isInteger(id) && id >= 0 && id < 2 ** 32).toBe(true)
      expect(await ids.register(subject, schema)).toBe(id)
      expect(await again().register(subject, schema)).toBe(id)
      expect(JSON.parse((await ids.schemaOf(id)) ?? '')).toEqual(JSON.parse(schema))
    })

    it('returns another number for another schema', async () => {
      const subject = `subject-${randomUUID()}`
      const first = await ids.register(subject, readingSchema(['value']))
      expect(await ids.register(subject, readingSchema(['value', 'unit']))).not.toBe(first)
    })

    it('returns null for an unknown number', async () => {
      expect(await ids.schemaOf(2_000_000_111)).toBeNull()
    })

    it('numbers the published schemas, so that one process reads the messages of another', async () => {
      expect(publishedSchemas().length).toBeGreaterThan(2)
      const [writer, reader] = [await openCodec(ids), await openCodec(again())]
      const submission = { kind: 'submission', accountId: `acc_${'1'.repeat(24)}`, liveMode: true } as const
      const counts = {
        batchId: 'btc_1',
        recordsSubmitted: 1,
        recordsAccepted: 1,
        refused: [],
        receivedAt: 1_750_000_000_000,
      }
      const value = writer.encodeMeterMessage({ ...submission, ...counts })
      expect(await reader.decodeMeterMessage(value)).toMatchObject(submission)
    })
  })
}
