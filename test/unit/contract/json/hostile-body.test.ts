import { describe, expect, it } from 'vitest'
import { parseJson } from '../../../../services/contract/json/strict-json.ts'
import { openSubmission } from '../../../../services/contract/metering/read-submission.ts'
import { cpuGrowth } from '../../../support/cpu/cpu-growth.ts'
import { leastCpuTimeMs } from '../../../support/cpu/cpu-time.ts'
import { noPause, readElements } from '../../../support/metering/parse-submission.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const capacity = { elements: 1_000, valuesPerElement: 16, excessValues: 1_000 }

const mebibyte = 2 ** 20
const list = (count: number, write: (at: number) => string) =>
  Array.from({ length: Math.floor(count) }, (_, at) => write(at)).join(',')

/** Bodies that needed much CPU time, each of about `bytes` bytes. */
const hostile: readonly (readonly [string, (bytes: number) => string])[] = [
  ['members of metadata', bytes => `{"metadata":{${list(bytes / 12, at => `"m${at}":"a"`)}}}`],
  ['unknown members', bytes => `{${list(bytes / 10, at => `"m${at}":1`)}}`],
  ['escaped names', bytes => `[[${list(bytes / 14, at => (at % 9_999 === 0 ? '{}],[1' : '{"\\u0061":1}'))}]]`],
  ['escapes in one text', bytes => `{"a":"${'\\n'.repeat(bytes / 2)}","b":12345678901234567890}`],
  ['an open text', bytes => `{"a":"${'\\"'.repeat(bytes / 2)}`],
  ['white space', bytes => `${' '.repeat(bytes)}1`],
  ['ends of lines before a fault', bytes => `{"a":1,${'\n'.repeat(bytes)}x`],
  ['digits', bytes => `{"a":1${'0'.repeat(bytes)}1}`],
  ['levels', bytes => '['.repeat(bytes)],
  ['a long name', bytes => `{"${'n'.repeat(bytes)}":1}`],
  ['long numbers', bytes => `[${list(bytes / 40, () => '0.123456789012345678901234567890123456')}]`],
]

describe('a hostile body', () => {
  it.each(hostile)('of %s needs CPU time in proportion to its length', async (_, write) => {
    const bodies = new Map([mebibyte / 8, mebibyte / 4].map(bytes => [bytes, bytesOf(write(bytes))]))
    expect(await cpuGrowth(mebibyte / 8, bytes => parseJson(bodies.get(bytes) ?? bytesOf('')))).toBeLessThan(3.5)
  })

  it.each(hostile)('of %s is read in a short time', async (_, write) => {
    const bytes = bytesOf(write(mebibyte))
    expect(await leastCpuTimeMs(80, () => parseJson(bytes))).toBeLessThan(80)
  })

  it.each(hostile)('of %s is read in a short time as a submission, in a list and in lines', async (_, write) => {
    for (const [bytes, inLines] of [
      [bytesOf(`[${write(4 * mebibyte)}]`), false],
      [bytesOf(write(4 * mebibyte)), true],
    ] as const) {
      const limits = { limits: capacity, maxElementBytes: 8_192 }
      const read = async (): Promise<void> => {
        const opened = await openSubmission(bytes, inLines, limits, noPause)
        if (opened.ok) await readElements(opened.value)
      }
      expect(await leastCpuTimeMs(120, read)).toBeLessThan(120)
    }
  })
})
