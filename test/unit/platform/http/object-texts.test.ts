import { describe, expect, it } from 'vitest'
import { objectTexts } from '../../../../services/platform/http/object-texts.ts'

const element = (index: number) => ({ index, text: `"data":[] \\u0000 ${index}`, data: [index, []] })
const same = (whole: unknown): unknown => whole

describe('an answer with a long list', () => {
  it('equals JSON.stringify for any members around the list', () => {
    for (const count of [0, 1, 256, 257, 511, 512, 513, 2_000]) {
      const data = Array.from({ length: count }, (_, index) => element(index))
      const answer = { metadata: { data: [], '"data"': [[]] }, object: 'list', data, after: { data: [] } }
      const write = (from: number, to: number) => ({ ...answer, data: data.slice(from, to) })
      expect([...objectTexts({ member: 'data', count, write, translate: same })].join('')).toBe(JSON.stringify(answer))
    }
  })

  it('is written in parts of limited size, also with large elements', () => {
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
    // A part contains at most one large element.
    expect(Math.max(...parts.map(({ length }) => length))).toBeLessThan(500_000 + 65_536)
    expect(parts.length).toBeLessThan(40)
  })
})
