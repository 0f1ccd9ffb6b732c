import { describe, expect, it } from 'vitest'
import { jsonText } from '../../services/platform/http/object-texts.ts'

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

  it('is written in turns of some milliseconds', async () => {
    const answer = { data: Array.from({ length: 60_000 }, (_, index) => element(index)) }
    let turns = 0
    const counting = setInterval(() => {
      turns += 1
    }, 0)
    await jsonText(answer, whole => structuredClone(whole))
    clearInterval(counting)
    expect(turns).toBeGreaterThan(3)
  })
})
