import { describe, expect, it } from 'vitest'
import { exactNumber } from '../../../../services/contract/json/exact-number.ts'
import { openSubmission } from '../../../../services/contract/metering/read-submission.ts'
import type { Result } from '../../../../services/domain/refusal.ts'
import { noPause, readElements, type Submission } from '../../../support/metering/parse-submission.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const capacity = { elements: 1_000, valuesPerElement: 16, excessValues: 1_000 }
const readAll =
  (inLines: boolean) =>
  async (bytes: Uint8Array, limit: number): Promise<Result<Submission>> => {
    const opened = await openSubmission(bytes, inLines, { limits: capacity, maxElementBytes: limit }, noPause)
    if (!opened.ok && 'excess' in opened) throw new Error(`too many ${opened.excess}`)
    return opened.ok ? readElements(opened.value) : opened
  }
const parseArray = readAll(false)
const parseLines = readAll(true)

describe('a submission', () => {
  const padded = (bytes: number, letter: string): string => {
    const frame = bytesOf('{"a":""}').length
    return `{"a":"${letter.repeat((bytes - frame) / bytesOf(letter).length)}"}`
  }

  it.each([
    ['letters', 'x'],
    ['letters of two bytes', 'é'],
  ])('returns the indexes of the elements that are too long: %s', async (_, letter) => {
    const text = `[1, ${padded(100, letter)} , ${padded(102, letter)}, [${' '.repeat(99)}] ]`
    for (const written of [text, text.replace('[1', '["\\ud83d\\ude00"')]) {
      const parsed = await parseArray(bytesOf(written), 100)
      expect(parsed.ok && [...parsed.value.oversized]).toEqual([2, 3])
    }
  })

  it.each([
    ['a record', '{"a":"', '"}'],
    ['a text', '"', '"'],
  ])('does not read an element of more than 64 KiB: %s', async (_, start, end) => {
    const long = `${start}${'x'.repeat(2 ** 16)}${end}`
    for (const parsed of [
      await parseArray(bytesOf(`[1,${long},2]`), 100),
      await parseLines(bytesOf(`1\n${long}\n2`), 100),
    ])
      expect(parsed).toEqual({ ok: true, value: { elements: [1, undefined, 2], oversized: new Set([1]) } })
  })

  it('of several MiB is split in turns', async () => {
    for (const [text, inLines] of [
      [`[${' '.repeat(2 ** 22)}1]`, false],
      [`${'\n'.repeat(2 ** 22)}1`, true],
    ] as const) {
      let turns = 0
      const nextTurn = () => {
        turns += 1
        return Promise.resolve()
      }
      const limits = { limits: capacity, maxElementBytes: 100 }
      const opened = await openSubmission(bytesOf(text), inLines, limits, nextTurn)
      expect([opened.ok && opened.value.count, turns]).toEqual([1, 4])
    }
  })

  it('is a list', async () => {
    expect(await parseArray(bytesOf('{"a":[1]}'), 100)).toEqual({
      ok: false,
      refusal: { code: 'body_invalid', message: 'The body must be a list' },
    })
  })

  it('in lines skips blank lines, and is refused with the number of the first invalid line', async () => {
    const parsed = await parseLines(bytesOf(`{"a":1}\r\n\n{"a":${' '.repeat(90)}9007199254740993}\n`), 100)
    expect(parsed).toEqual({
      ok: true,
      value: { elements: [{ a: 1 }, { a: exactNumber('9007199254740993') }], oversized: new Set([1]) },
    })
    expect(await parseLines(bytesOf('1\n\n[1,2\n3]'), 100)).toMatchObject({
      refusal: { message: expect.stringMatching(/^Line 3: /) },
    })
  })

  it.each([-4, -3, -2, -1, 0, 1, 2])(
    'has its elements also if a turn ends in a text, at byte %i of it',
    async offset => {
      const mark = '\\\\\\",[{\\"'
      const text = `"${'x'.repeat(2 ** 20 - 2 + offset)}${mark}"`
      for (const [body, inLines] of [
        [`[${text},2]`, false],
        [` ${text}\n2`, true],
      ] as const) {
        const parsed = await readAll(inLines)(bytesOf(body), 100)
        expect(parsed).toEqual({ ok: true, value: { elements: [undefined, 2], oversized: new Set([0]) } })
      }
    },
  )

  it('in lines ends a text at the end of its line, also after many turns', async () => {
    const open = `"${'x'.repeat(2 ** 21)}`
    const parsed = await parseLines(bytesOf(`${open}\n2\n`), 100)
    expect(parsed).toEqual({ ok: true, value: { elements: [undefined, 2], oversized: new Set([0]) } })
  })
})
