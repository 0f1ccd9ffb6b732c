import { describe, expect, it } from 'vitest'
import { otherQuantityReader } from '../../../../../services/interchange/domain/csv/other-quantity.ts'
import { hour, plainRules, readRows as read } from '../../../../support/interchange/read-rows.ts'

describe('a column without a field', () => {
  const rows = (heading: string, ...words: readonly string[]) =>
    [`time|kWh|${heading}`, ...words.map((word, at) => `2026-04-01T0${at}:00:00Z|${at + 1}|${word}`)].join('\n')
  const refused = '2 other_quantity'

  it.each([
    ['Type', 'Gas'],
    ['Sparte', 'erdgas'],
    ['commodity', 'WATER'],
    ['Einheit', 'm³'],
    ['Einheit', 'Wh'],
    ['Richtung', 'Einspeisung'],
  ])('refuses a row whose %s is %s, in any order of the rows', (heading, word) => {
    expect(read(rows(heading, word, 'x'), hour, 'value=kWh')).toEqual([refused, '04-01T01:00 04-01T02:00 2'])
    expect(read(rows(heading, 'x', word), hour, 'value=kWh')).toEqual([
      ...['04-01T00:00 04-01T01:00 1', refused.replace('2', '3')],
    ])
  })

  it.each([
    ['Type', 'Strom'],
    ['status', 'W'],
    ['Einheit', 'kWh'],
    ['note', 'gas meter in the cellar'],
  ])('does not refuse a row whose %s is %s', (heading, word) => {
    expect(read(rows(heading, word), hour, 'value=kWh')).toEqual(['04-01T00:00 04-01T01:00 1'])
  })

  it('is named in the message by its first 60 characters', () => {
    const find = (heading: string) => {
      const columns = [{ name: heading, index: 0 }]
      return otherQuantityReader(columns, { ...plainRules, ...hour }, new Map())(['gas'])?.heading.length
    }
    expect([find('a'.repeat(60)), find('a'.repeat(61))]).toEqual([60, 60])
  })

  it('may say what the options choose', () => {
    const where = [{ heading: 'Type', text: 'Gas' }]
    expect(read(rows('Type', 'Gas', 'Strom'), { ...hour, where }, 'value=kWh')).toHaveLength(1)
    const directions = { energyFlowDirection: 'OUTBOUND', tariffDirection: 'EXPORT' } as const
    expect(read(rows('flow', 'Export'), { ...hour, directions }, 'value=kWh')).toHaveLength(1)
  })
})

describe('rows of several quantities', () => {
  const text = `
    time                 | kWh | Type        | flow      | quantity
    2026-04-01T00:00:00Z | 1   | Electricity | Afname    | kwh
    2026-04-01T00:00:00Z | 2   | Gas         | Afname    | m3
    2026-04-01T01:00:00Z | 3   | Electricity | Teruglevering | kwh`
  const columns = 'value=kWh,direction=flow,unit=quantity'
  const words = new Map([
    ['AFNAME', 'IMPORT'],
    ['TERUGLEVERING', 'EXPORT'],
  ])

  it('are selected by the text of a column, and their words are mapped', () => {
    const where = [{ heading: 'Type', text: 'Electricity' }]
    expect(read(text, { ...hour, words, where }, columns)).toEqual([
      ...['04-01T00:00 04-01T01:00 1', '04-01T01:00 04-01T02:00 3'],
    ])
    expect(
      read(text, { ...hour, words, where: [...where, { heading: 'flow', text: 'Afname' }] }, columns),
    ).toHaveLength(1)
    expect(read(text, { ...hour, words }, columns)[1]).toBe('3 other_quantity')
    expect(read(text, { ...hour, where }, columns)).toEqual(['2 field_invalid', '4 field_invalid'])
    expect(read(text, { ...hour, where: [{ heading: 'Kind', text: 'x' }] }, columns)[0]).toContain('no column "Kind"')
  })
})
