import { describe, expect, it } from 'vitest'
import { fractionAt } from '../../../../services/interchange/domain/source-value.ts'
import { maxYamlBytes, readYamlSource } from '../../../../services/interchange/platform/yaml.ts'

const read = (text: string) => readYamlSource(new TextEncoder().encode(text))
const value = async (text: string) => {
  const source = await read(text)
  if (!source.ok) throw new Error(source.refusal.message)
  return source.value as Readonly<Record<string, never>>
}
const refusal = async (text: string): Promise<string> => {
  const source = await read(text)
  return source.ok ? 'accepted' : `${source.refusal.code} ${source.refusal.message}`
}

describe('a YAML file', () => {
  it('has the texts of its numbers, and texts, lists and objects', async () => {
    const { price, list, none, text, date, flag } = await value(
      'price: 0.10000000000000000001\nlist: [a, b]\nnone: ~\ntext: "1"\ndate: 2024-01-01\nflag: true\n',
    )
    // A double would lose the last digit.
    expect(fractionAt({ path: '', value: price })).toEqual({
      dividend: 10_000_000_000_000_000_001n,
      divisor: 10n ** 20n,
    })
    expect([list, none, text, date, flag]).toEqual([['a', 'b'], null, '1', '2024-01-01', true])
  })

  it.each([
    ['an alias', 'a: &x 1\nb: *x\n', 'anchor or an alias'],
    ['an anchor', 'a: &x [1]\n', 'anchor or an alias'],
    ['a tag', 'a: !own 1\n', 'body_invalid'],
    ['a core tag', 'a: !!str 1\n', 'has a tag'],
    ['a merge key as alias', 'a: &x {b: 1}\nc: {<<: *x}\n', 'anchor or an alias'],
    ['a name twice', 'a: 1\na: 2\n', 'Map keys must be unique'],
    ['a hexadecimal number', 'a: 0x1f\n', 'not a decimal number'],
    ['an infinite number', 'a: .inf\n', 'not a decimal number'],
    ['two documents', 'a: 1\n---\nb: 2\n', 'one document'],
    ['a list', '- 1\n', 'must be an object'],
    ['no content', '', 'must'],
    ['a wrong indent', 'a:\n  b: 1\n c: 2\n', 'body_invalid'],
    ['a NUL', 'a: "\0"\n', 'NUL'],
    ['a name that is a list', '? [a]\n: 1\n', 'not a text'],
    ['a prototype', '__proto__: 1\n', 'not a text'],
  ])('is refused with %s', async (_, text, message) => {
    expect(await refusal(text)).toContain(message)
  })

  it('has at most 32 levels', async () => {
    const nested = (levels: number) => `a: ${'['.repeat(levels)}${']'.repeat(levels)}\n`
    expect(await refusal(nested(31))).toBe('accepted')
    expect(await refusal(nested(32))).toContain('deeper than 32 levels')
  })

  it('has at most 256 KiB', async () => {
    expect(await refusal(`a: 1 #${' '.repeat(maxYamlBytes - 6)}`)).toBe('accepted')
    expect(await refusal(`a: 1 #${' '.repeat(maxYamlBytes - 5)}`)).toContain('256 KiB')
  })

  it.each([
    ['deep lists', `a: ${'['.repeat(100_000)}`],
    ['deep blocks', `a:\n${'- '.repeat(50_000)}1\n`],
    ['deep objects', '{"a":'.repeat(40_000)],
    ['many values', `a: [${'1,'.repeat(100_000)}1]`],
    ['many lines', 'a: 1\n'.repeat(50_000)],
    [
      'aliases of aliases',
      `a: &a [x]\n${Array.from({ length: 3_000 }, (_, i) => `b${i}: &b${i} [*a, *a]`).join('\n')}`,
    ],
  ])('is refused in short time with %s', async (_, text) => {
    const before = performance.now()
    expect(await refusal(text)).toContain('body_invalid')
    expect(performance.now() - before).toBeLessThan(2_000)
  })
})
