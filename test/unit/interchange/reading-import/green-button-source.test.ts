import { describe, expect, it } from 'vitest'
import { collectFileCosts } from '../../../../services/interchange/domain/green-button/file-costs.ts'
import type { ReadRow } from '../../../../services/interchange/domain/reading.ts'
import { greenButtonSource } from '../../../../services/interchange/reading-import/read-green-button.ts'

/** Read a feed as the import does. Returns its rows, its notes, and the devices that the import must know. */
const read = async (...entries: readonly string[]) => {
  const text = `<feed xmlns="http://www.w3.org/2005/Atom">${entries.join('')}</feed>`
  const devices: string[] = []
  const costs = collectFileCosts()
  const source = greenButtonSource({
    open: async function* () {
      yield Buffer.from(text)
    },
    location: { id: 'loc_1' },
    costs,
    deviceOf: async reference => {
      devices.push(reference)
      return { reference }
    },
  })
  const rows: ReadRow[] = []
  for await (const some of source.read()) rows.push(...some)
  return { rows, devices, costs: costs.sums(), ...source.notes() }
}

const point = '/espi/1_1/resource/UsagePoint/1'
const other = '/espi/1_1/resource/UsagePoint/2'
const typeLink = '/espi/1_1/resource/ReadingType/7'

const entry = (self: string, content: string, links = ''): string =>
  `<entry><link rel="self" href="https://utility.example${self}"/>${links}<content>${content}</content></entry>`
const related = (href: string): string => `<link rel="related" href="${href}"/>`
const usagePoint = (self: string, kind = '0', links = ''): string =>
  entry(self, `<UsagePoint><ServiceCategory><kind>${kind}</kind></ServiceCategory></UsagePoint>`, links)
const meterReading = (self: string): string => entry(self, '<MeterReading/>', related(typeLink))
const readingType = (more = '', self = typeLink): string =>
  entry(self, `<ReadingType><uom>72</uom>${more}</ReadingType>`)
const reading = (value: number, more = ''): string =>
  `<IntervalReading>${more}<timePeriod><duration>900</duration><start>${1_767_225_600 + value * 900}</start></timePeriod><value>${value}</value></IntervalReading>`
const block = (self: string, ...readings: readonly string[]): string =>
  entry(self, `<IntervalBlock>${readings.join('')}</IntervalBlock>`)
const meterAt = (self: string): string => `${self}/MeterReading/1`
const blockAt = (self: string, ...readings: readonly string[]): string =>
  block(`${meterAt(self)}/IntervalBlock/1`, ...readings)

const valuesOf = (rows: readonly ReadRow[]) =>
  rows.map(row => ('code' in row ? row.code : [row.device, row.value, row.directions?.tariffDirection]))

describe('a Green Button feed', () => {
  it('with one usage point has the readings of the location', async () => {
    const { rows, devices } = await read(
      usagePoint(point),
      meterReading(meterAt(point)),
      readingType(),
      blockAt(point, reading(1)),
    )
    expect([valuesOf(rows), devices]).toEqual([[[null, '1', 'IMPORT']], []])
  })

  it('with several usage points has devices whose references are the self links', async () => {
    const { rows, devices } = await read(
      ...[usagePoint(point), usagePoint(other), readingType()],
      ...[meterReading(meterAt(point)), meterReading(meterAt(other))],
      ...[blockAt(point, reading(1)), blockAt(other, reading(2))],
    )
    expect(devices).toEqual([point, other])
    expect(valuesOf(rows)).toEqual([
      [{ reference: point }, '1', 'IMPORT'],
      [{ reference: other }, '2', 'IMPORT'],
    ])
  })

  it('links a usage point to a meter reading that is not below it', async () => {
    const apart = '/espi/1_1/resource/MeterReading/9'
    const { devices } = await read(
      ...[usagePoint(point, '0', related(apart)), usagePoint(other), readingType(), meterReading(apart)],
      block(`${apart}/IntervalBlock/1`, reading(1)),
    )
    expect(devices).toEqual([point])
  })

  it.each(['1', '2'])('leaves out a usage point with ServiceCategory %s, and keeps electricity', async kind => {
    const { rows, notImported } = await read(
      ...[usagePoint(point), usagePoint(other, kind), readingType()],
      ...[meterReading(meterAt(point)), meterReading(meterAt(other))],
      ...[blockAt(point, reading(1)), blockAt(other, reading(2))],
    )
    expect(valuesOf(rows)).toEqual([[null, '1', 'IMPORT']])
    expect(notImported).toMatchObject([{ path: other, reason: 'other_commodity' }])
  })

  it('gives each meter reading the ReadingType that it links to', async () => {
    const { rows } = await read(
      ...[usagePoint(point), meterReading(meterAt(point))],
      readingType('<flowDirection>1</flowDirection>', '/espi/1_1/resource/ReadingType/6'),
      readingType('<flowDirection>19</flowDirection><powerOfTenMultiplier>3</powerOfTenMultiplier>'),
      blockAt(point, reading(1)),
    )
    expect(valuesOf(rows)).toEqual([[null, '1000', 'EXPORT']])
  })

  it('without a ReadingType has no unit, so it has no readings', async () => {
    const { rows, notImported } = await read(
      usagePoint(point),
      meterReading(meterAt(point)),
      blockAt(point, reading(1)),
    )
    expect([rows, notImported]).toMatchObject([[], [{ path: meterAt(point), reason: 'unit' }]])
  })

  it('with a block that belongs to no meter reading names the block', async () => {
    const { rows, notImported } = await read(
      ...[usagePoint(point), readingType(), meterReading(meterAt(point)), meterReading(`${point}/MeterReading/2`)],
      block('/elsewhere/IntervalBlock/1', reading(1)),
    )
    expect([rows, notImported]).toMatchObject([[], [{ path: '/elsewhere/IntervalBlock/1', reason: 'unit' }]])
  })

  it('has all blocks of an entry and all readings of a block, in the order of the file', async () => {
    const blocks = [[1, 2], [3]].map(
      values => `<IntervalBlock>${values.map(value => reading(value)).join('')}</IntervalBlock>`,
    )
    const { rows } = await read(
      ...[usagePoint(point), readingType(), meterReading(meterAt(point))],
      entry(`${meterAt(point)}/IntervalBlock/1`, blocks.join('')),
    )
    expect(valuesOf(rows).map(row => row[1])).toEqual(['1', '2', '3'])
  })

  it('notes costs, tiers and summaries, and adds up its costs in 1e-5 of the currency for a comparison', async () => {
    const { noted, costs } = await read(
      ...[usagePoint(point), readingType('<currency>840</currency>'), meterReading(meterAt(point))],
      entry(`${point}/UsageSummary/1`, '<UsageSummary/>'),
      blockAt(point, reading(1, '<cost>12345</cost><tou>1</tou>'), reading(2, '<cost>55</cost>')),
    )
    expect(noted.map(({ path }) => path)).toEqual([
      `${point}/UsageSummary/1`,
      `${meterAt(point)}/IntervalBlock/1/IntervalReading/cost`,
      `${meterAt(point)}/IntervalBlock/1/IntervalReading/tou`,
    ])
    // 0.12345 USD + 0.00055 USD in units of 1e-9.
    expect(costs).toMatchObject([{ currencyCode: 'USD', cost: 124_000_000n, readings: 2, withoutCost: 0 }])
  })

  it('with a document type is refused', async () => {
    await expect(read('<!DOCTYPE feed [<!ENTITY a "b">]>')).rejects.toThrow(/document type/)
  })
})
