import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readEnergy } from '../../../../../services/domain/quantity.ts'
import type { ExportedRecord } from '../../../../../services/interchange/domain/exported-record.ts'
import {
  currencyCodeOf,
  currencyNumberOf,
} from '../../../../../services/interchange/domain/green-button/currency-numbers.ts'
import type { EspiValue } from '../../../../../services/interchange/domain/green-button/espi.ts'
import { readEspiEntry, textMember } from '../../../../../services/interchange/domain/green-button/espi.ts'
import {
  intervalReadings,
  meterReadingOf,
  openEspiFeed,
} from '../../../../../services/interchange/domain/green-button/feed.ts'
import { readIntervalReading } from '../../../../../services/interchange/domain/green-button/interval-reading.ts'
import { writeGreenButton } from '../../../../../services/interchange/domain/green-button/write-green-button.ts'
import { readXmlEntries } from '../../../../../services/interchange/platform/xml.ts'

const noon = Date.parse('2026-03-02T12:00:00Z')

const record = (index: number, more: Partial<ExportedRecord> = {}): ExportedRecord => ({
  id: `mre_${index}`,
  start: noon + index * 900_000,
  end: noon + (index + 1) * 900_000,
  locationId: 'loc_1',
  energyFlowDirection: 'INBOUND',
  tariffDirection: 'IMPORT',
  sessionReferenceId: null,
  currencyCode: 'USD',
  deviceId: null,
  energy: 250_000_000n,
  cost: 57_500_000n,
  confidence: 1_000_000,
  pieces: [],
  ...more,
})

const write = (records: readonly ExportedRecord[]) => {
  const uuidOf = (text: string): string => `uuid of ${text}`
  const steps = writeGreenButton({ locationId: 'loc_1', name: 'A & B <1>', records, at: noon, uuidOf })
  let text = ''
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done) return { text, ...step.value }
    text += step.value
  }
}

/** Read a feed with the reader of imports. */
const reread = async (text: string) => {
  const entries = []
  const chunks = async function* () {
    yield Buffer.from(text)
  }
  for await (const { value, line } of readXmlEntries(chunks())) {
    const entry = readEspiEntry(value as EspiValue, line)
    if (entry !== null) entries.push(entry)
  }
  const feed = openEspiFeed(entries)
  return entries
    .filter(({ kind }) => kind === 'IntervalBlock')
    .flatMap(block =>
      intervalReadings(block).map(reading => {
        const meter = meterReadingOf(block, feed)
        if (meter?.meaning === null || meter === undefined) throw new Error('no meaning')
        const row = readIntervalReading(reading, 1, { location: { id: 'l' }, device: null, meaning: meter.meaning })
        if ('code' in row) throw new Error(row.message)
        const energy = readEnergy(row.value, 'WH', 0)
        return {
          ...row,
          energy: energy.ok ? energy.value : null,
          meter: meter.usagePoint,
          cost: textMember(reading, 'cost'),
        }
      }),
    )
}

describe('a Green Button feed', () => {
  it('has a reading with its cost for each record', async () => {
    const { text, written } = write([record(1, { energy: 1_500_000n }), record(0)])
    expect(written).toBe(2)
    expect(text).toContain('<currency>840</currency>')
    expect(text).toContain('<powerOfTenMultiplier>-3</powerOfTenMultiplier>')
    expect(text).toContain('<title>A &amp; B &lt;1&gt;</title>')
    // 250 Wh are 250000 mWh. 0.0575 USD are 5750 in 1e-5.
    expect(text).toContain(
      '<IntervalReading><cost>5750</cost><timePeriod><duration>900</duration><start>1772452800</start></timePeriod><value>250000</value></IntervalReading>',
    )
    expect(await reread(text)).toMatchObject([
      { start: noon, end: noon + 900_000, energy: 250_000_000n, cost: '5750' },
      { start: noon + 900_000, energy: 1_500_000n },
    ])
  })

  it.each([
    [250_000_000n, 0, '250'],
    [250_001_000n, -3, '250001'],
    [250_000_001n, -6, '250000001'],
  ])('writes %s in 10^%i Wh', (energy, multiplier, value) => {
    const { text } = write([record(0, { energy })])
    expect(text).toContain(`<powerOfTenMultiplier>${multiplier}</powerOfTenMultiplier>`)
    expect(text).toContain(`<value>${value}</value>`)
  })

  it('has sold energy, devices, estimates and records without a price', async () => {
    const sold = { energyFlowDirection: 'OUTBOUND', tariffDirection: 'EXPORT', deviceId: 'dev_1' } as const
    const { text } = write([
      record(0, { confidence: 800_000 }),
      record(1, { confidence: 400_000, cost: null }),
      record(2, { ...sold, cost: -12_345n }),
    ])
    expect(await reread(text)).toMatchObject([
      { confidence: '0.9', directions: { energyFlowDirection: 'INBOUND' }, cost: '5750' },
      { confidence: '0.5', cost: null },
      { directions: { energyFlowDirection: 'OUTBOUND' }, meter: expect.stringContaining('dev_1'), cost: '-1' },
    ])
  })

  it.each([
    ['direction', { tariffDirection: 'LOCAL' }],
    ['zero_duration', { end: noon }],
    ['part_of_a_second', { end: noon + 1_500 }],
    ['currency', { currencyCode: 'XYZ' }],
  ] as const)('leaves out a record: %s', (reason, change) => {
    expect(write([record(0, change), record(1)])).toMatchObject({
      written: 1,
      notExported: [{ id: 'mre_0', reason }],
    })
  })

  it('is read with the same times and energies', async () => {
    const one = fc.record({
      energy: fc.oneof(
        fc.bigInt({ min: 0n, max: 10n ** 14n }),
        fc.bigInt({ min: 0n, max: 10n ** 6n }).map(n => n * 1_000_000n),
      ),
      isSold: fc.boolean(),
      deviceId: fc.constantFrom(null, 'dev_1', 'dev_2'),
    })
    const keyOf = (meter: string | null, sold: boolean, start: number, value: bigint | null) =>
      `${meter} ${sold} ${start} ${value}`
    await fc.assert(
      fc.asyncProperty(fc.array(one, { minLength: 1, maxLength: 40 }), async records => {
        const all = records.map(({ energy, isSold, deviceId }, index) =>
          record(index, {
            energy,
            deviceId,
            ...(isSold ? { energyFlowDirection: 'OUTBOUND', tariffDirection: 'EXPORT' } : {}),
          }),
        )
        const rows = await reread(write(all).text)
        const expected = all.map(({ deviceId, energyFlowDirection, start, energy }) =>
          keyOf(
            `/espi/1_1/resource/UsagePoint/${deviceId ?? 'loc_1'}`,
            energyFlowDirection === 'OUTBOUND',
            start,
            energy,
          ),
        )
        const found = rows.map(({ meter, directions, start, energy }) =>
          keyOf(meter, directions?.energyFlowDirection === 'OUTBOUND', start, energy),
        )
        expect(found.toSorted()).toEqual(expected.toSorted())
      }),
      { numRuns: 30 },
    )
  })

  it('splits a long series into blocks', () => {
    const { text } = write(Array.from({ length: 1_001 }, (_, index) => record(index)))
    expect(text.match(/<IntervalBlock /g)).toHaveLength(2)
  })
})

describe('numbers of currencies', () => {
  it.each([
    ['EUR', 978],
    ['USD', 840],
    ['NOK', 578],
    ['AUD', 36],
  ])('%s is %i', (code, number) => {
    expect(currencyNumberOf(code)).toBe(number)
    expect(currencyCodeOf(number)).toBe(code)
  })
})
