import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parseExactJson } from '../../../services/contract/json/exact-json.ts'
import { readNumber } from '../../../services/contract/metering/meter-record.ts'
import { numberToWire } from '../../../services/contract/metering/meter-record-read.ts'
import { optionalNumber } from '../../../services/contract/metering/record-fields.ts'
import { formatDecimal } from '../../../services/domain/quantity.ts'
import { type BlockReader, blockWriter } from '../../../services/platform/clickhouse/encoding/fast-path/native-block.ts'
import { numberType } from '../../../services/platform/clickhouse/meter-cost/meter-cost-rows.ts'
import { type AvroWriter, readOptionalLong, writeOptionalLong } from '../../../services/record-bytes/avro-bytes.ts'
import { createJsonCursor } from '../../../services/record-bytes/json-cursor.ts'
import { readNumberBytes } from '../../../services/record-bytes/plain-record.ts'
import { acceptedValue } from '../../support/accepted-value.ts'

const max = 10n ** 17n
const field = optionalNumber('reactiveEnergy', 'reactive_energy', { scale: 6, min: -max, max }, 'varh.')
const values = fc.option(fc.oneof(fc.bigInt({ min: -max, max }), fc.bigInt({ min: -300n, max: 300n })), { nil: null })

it('an optional number is equal after messages, table and answer', () => {
  const inMessage = (value: bigint | null) => {
    const to: AvroWriter = { bytes: Buffer.alloc(32), at: 0 }
    writeOptionalLong(to, value)
    return readOptionalLong({ bytes: to.bytes, at: 0 })
  }
  const inTable = (value: bigint | null) => {
    const to = blockWriter(32)
    const type = numberType(field)
    expect(type.type).toBe(field.column.type)
    type.write(to, [value])
    const from: BlockReader = { bytes: to.bytes, view: to.view, at: 0 }
    return type.read(from, 1)[0]
  }
  fc.assert(
    fc.property(values, value => {
      expect([inMessage(value), inTable(value)]).toEqual([value, value])
      const text = JSON.stringify(numberToWire(value, field))
      expect(readNumber(acceptedValue(parseExactJson(text)), field)).toBe(value)
    }),
  )
  expect(() => readOptionalLong({ bytes: Buffer.from([4, 2]), at: 0 })).toThrow(RangeError)
})

it('the byte reader of an optional number reads what the general reader reads, or nothing', () => {
  const texts = fc.oneof(
    values.map(value => (value === null ? 'null' : formatDecimal(value, 6))),
    fc.constantFrom('1.0000001', '1e3', '-0', '100000000001', '"1"', 'true'),
  )
  let compared = 0
  fc.assert(
    fc.property(texts, text => {
      const cursor = createJsonCursor(Buffer.from(text))
      const found = readNumberBytes(cursor, field)
      // A number that the cursor does not reach the end of, such as 1e3, is left to the general reader.
      if (found === null || cursor.index < text.length) return
      compared += 1
      expect(readNumber(acceptedValue(parseExactJson(text)), field)).toBe(found)
    }),
  )
  expect(compared).toBeGreaterThan(10)
  expect(readNumber(acceptedValue(parseExactJson('"1"')), field)).toMatchObject({ code: 'field_invalid' })
  expect(readNumber(acceptedValue(parseExactJson('100000000001')), field)).toMatchObject({ code: 'value_out_of_range' })
})
