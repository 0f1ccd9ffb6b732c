import { describe, expect, it } from 'vitest'
import { FeedFormatError } from '../../../../services/domain/market-feed/feed-price.ts'
import { readJsonSource } from '../../../../services/interchange/contract/json-source.ts'
import { openObjectRows } from '../../../../services/interchange/domain/csv/object-rows.ts'
import { writeSource } from '../../../../services/interchange/domain/source-value.ts'
import { readXmlEntries } from '../../../../services/interchange/platform/xml.ts'
import { readYamlSource } from '../../../../services/interchange/platform/yaml.ts'
import {
  readCsvForm,
  readCsvRules,
  readReadingColumns,
} from '../../../../services/interchange/reading-import/csv-options.ts'
import { csvReadingSource } from '../../../../services/interchange/reading-import/read-csv-readings.ts'
import { isFailure } from '../../../../services/platform/failure.ts'
import { entsoe } from '../../../../services/platform/market-feeds/entsoe.ts'
import { readFile } from '../../../support/interchange/read-tariffs.ts'

/** Names of members that every object of JavaScript has, and other special names. */
const names = [...Object.getOwnPropertyNames(Object.prototype), 'prototype', 'then', 'toJSON']
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

async function* chunksOf(text: string): AsyncGenerator<Uint8Array> {
  yield bytesOf(text)
}

/** Return the entries of a feed, or the code of its refusal. */
const entriesOf = async (content: string): Promise<unknown> => {
  try {
    return await Array.fromAsync(readXmlEntries(chunksOf(`<feed><entry>${content}</entry></feed>`)))
  } catch (error) {
    if (!isFailure(error)) throw error
    return error.code
  }
}

const before = Object.getOwnPropertyNames(Object.prototype).join()

describe.each(names)('the name %s', name => {
  it('of an XML element or attribute is read, or refuses the file', async () => {
    const contents = [`<${name}>1</${name}>`, `<a ${name}="1"/>`, `<content><${name}><b/></${name}></content>`]
    for (const content of contents) {
      const read = await entriesOf(content)
      expect(Array.isArray(read) || read === 'file_unreadable', `${content}: ${read}`).toBe(true)
    }
    const source = { area: 'DE-LU', currencyCode: 'EUR' }
    const document = `<Publication_MarketDocument><${name}/></Publication_MarketDocument>`
    try {
      expect(entsoe.read(document, source as never, undefined as never)).toMatchObject({ prices: [] })
    } catch (error) {
      expect(error).toBeInstanceOf(FeedFormatError)
    }
  })

  it('of a JSON or YAML member keeps its value, or refuses the file', async () => {
    const json = readJsonSource(bytesOf(`{"label":"a","${name}":{"rate":1}}`))
    if (json.ok) expect(writeSource(json.value)).toBe(`{"label":"a","${name}":{"rate":1}}`)
    else expect(json.refusal.code).toBe('body_invalid')
    const yaml = await readYamlSource(bytesOf(`netteier: a\n${name}:\n  pris: 1\n`))
    if (yaml.ok) expect(writeSource(yaml.value)).toBe(`{"netteier":"a","${name}":{"pris":1}}`)
    else expect(yaml.refusal.code).toBe('body_invalid')
  })

  it('of a member of a tariff keeps its tariff out', () => {
    const file = `{"label":"a","energyratestructure":[[{"rate":1}]],"${name}":1}`
    const read = () => readFile('urdb', file).tariffs
    try {
      expect(read()).toEqual([])
    } catch (error) {
      expect(`${error}`).toMatch(/__proto__|member/)
    }
  })

  it('of a CSV column is a column like others', async () => {
    const [start, end] = ['2026-01-10T00:00:00Z', '2026-01-10T01:00:00Z']
    const options = { location: 'depot-7', unit: 'KWH' }
    const [form, columns, rules] = [readCsvForm(options), readReadingColumns(options), readCsvRules(options, null)]
    const text = `start,end,value,${name}\n${start},${end},1,x\n`
    const rows = (await Array.fromAsync(csvReadingSource(chunksOf(text), form, columns, rules).read())).flat()
    expect(rows).toMatchObject([{ value: '1', units: 'KWH' }])
    const reader = openObjectRows(['reference_id', `metadata.${name}`], new Map(), field => field.split('.'))
    if ('problem' in reader) throw new Error(reader.problem)
    const row = reader.readRow(['r', 'x'], 2)
    // Headings are in lower case.
    expect(JSON.stringify('members' in row ? row.members : row)).toBe(
      `{"reference_id":"r","metadata":{"${name.toLowerCase()}":"x"}}`,
    )
  })

  it('changes no object of the process', () => {
    expect(Object.getOwnPropertyNames(Object.prototype).join()).toBe(before)
  })
})
