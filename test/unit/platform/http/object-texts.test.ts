import { describe, expect, it } from 'vitest'
import { jsonText, objectTexts } from '../../../../services/platform/http/object-texts.ts'

const element = (index: number) => ({ index, text: `"data":[] \\u0000 ${index}`, data: [index, []] })
const same = (whole: unknown): unknown => whole

describe('an answer with a long list', () => {
  it('has the text that JSON.stringify gives of it, whatever stands beside the list', async () => {
    for (const count of [0, 1, 256, 257, 511, 512, 513, 2_000]) {
      const data = Array.from({ length: count }, (_, index) => element(index))
      const answer = { metadata: { data: [], '"data"': [[]] }, object: 'list', data, after: { data: [] } }
      expect(await jsonText(answer, same)).toBe(JSON.stringify(answer))
    }
    for (const answer of [null, 'text', { data: 'text' }, [1, 2], { other: true }]) {
      expect(await jsonText(answer, same)).toBe(JSON.stringify(answer))
    }
  })

  it('is written in parts of some size, however large its elements are', () => {
    const sizes = [
      ...Array.from({ length: 500 }, () => 10),
      500_000,
      400_000,
      400_000,
      ...Array.from({ length: 2_000 }, () => 100),
    ]
    const data = sizes.map(size => 'x'.repeat(size))
    const write = (from: number, to: number) => ({ data: data.slice(from, to) })
    const parts = [...objectTexts({ member: 'data', count: data.length, write, translate: same })]
    expect(parts.join('')).toBe(JSON.stringify({ data }))
    // A part holds one large element at most beside small ones.
    expect(Math.max(...parts.map(({ length }) => length))).toBeLessThan(500_000 + 65_536)
    expect(parts.length).toBeLessThan(40)
  })

  it('is written in turns of some milliseconds', async () => {
    const answer = { data: Array.from({ length: 60_000 }, (_, index) => element(index)) }
    let eventLoopTurns = 0
    const counting = setInterval(() => {
      eventLoopTurns += 1
    }, 0)
    await jsonText(answer, whole => structuredClone(whole))
    clearInterval(counting)
    expect(eventLoopTurns).toBeGreaterThan(3)
  })
})
