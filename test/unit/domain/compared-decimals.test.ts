import { globSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readAccountBrand } from '../../../services/contract/registry/account-brand.ts'
import { decideOnFailures } from '../../../services/cost-worker/failing-share.ts'
import { comparedDecimals } from '../../../services/domain/compared-decimals.ts'
import { refuseInfeasible } from '../../../services/domain/schedule/refuse-infeasible.ts'

const form = { scale: 9, decimals: 3 }

/** Read a decimal text as an integer of 1e-9. */
const nano = (text: string): bigint => {
  const [whole = '', fraction = ''] = text.replace('-', '').split('.')
  const value = BigInt(whole + fraction.padEnd(9, '0'))
  return text.startsWith('-') ? -value : value
}

describe('two numbers of a message', () => {
  it('differ, in the order of the numbers', () => {
    const number = fc.bigInt({ min: -(10n ** 13n), max: 10n ** 13n })
    const near = fc.bigInt({ min: -2_000_000n, max: 2_000_000n })
    fc.assert(
      fc.property(number, near, fc.nat({ max: 9 }), (stated, difference, decimals) => {
        const texts = comparedDecimals(stated, stated + difference, { scale: 9, decimals })
        const [shown, found] = [texts.stated, texts.found].map(nano) as [bigint, bigint]
        expect(shown).toBe(stated)
        // The found number moves away from the stated one, by less than one unit of the last decimal.
        const moved = difference < 0n ? stated + difference - found : found - stated - difference
        expect(moved >= 0n && moved < 10n ** BigInt(9 - Math.min(decimals, 9))).toBe(true)
        expect(found === shown).toBe(difference === 0n)
      }),
    )
  })

  it.each([
    // 3.6666665 kWh are cut to the 6 decimals of the request. Rounded, both would be 3.667.
    [3_666_667_000n, 3_666_666_500n, '3.666667', '3.666666'],
    [2_500_000_000n, 2_499_999_999n, '2.5', '2.499'],
    [1_000_000_000n, 1_000_000_001n, '1', '1.001'],
    [5n, 5n, '0.000000005', '0.000000005'],
  ])('%s and %s are %s and %s', (stated, found, ...texts) =>
    expect(Object.values(comparedDecimals(stated, found, form))).toEqual(texts),
  )
})

describe('messages that compare two numbers', () => {
  const numbersOf = (message: string, pattern: RegExp) => (pattern.exec(message) ?? []).slice(1).map(Number)

  it('show the digits in which they differ', () => {
    const energy = { deviceId: 'dev', energy: 3_666_667_000n, start: 0, end: 3_600_000 }
    const shortage = { devices: [energy as never], hours: [], possible: 3_666_666_900n }
    const { message } = refuseInfeasible(shortage, () => 0)
    expect(message).toContain('asks for 3.666667 kWh, but can have at most 3.666666 kWh')

    const ids = Array.from({ length: 1000 }, (_, index) => `l${index}`)
    const window = [{ seen: ids, failing: new Set(ids.slice(0, 126)) }]
    const stopped = decideOnFailures(window, { share: 0.125, minLocations: 3 })
    expect(stopped).toMatchObject({
      reason: '126 of the last 1000 locations (12.6 %) fail, which is more than 12.5 %',
    })
  })

  it('show a contrast below the limit for each refused colour', () => {
    let refused = 0
    for (let grey = 0; grey < 256; grey += 1) {
      const hex = grey.toString(16).padStart(2, '0')
      const read = readAccountBrand('brand_color', `#${hex}${hex}${hex}`)
      if (read.ok) continue
      refused += 1
      const [found = 9, needed = 0] = numbersOf(read.refusal.message, /page is ([\d.]+), and at least ([\d.]+) is/)
      expect(found).toBeLessThan(needed)
    }
    expect(refused).toBeGreaterThan(100)
  })
})

/** Texts that compare and round a number in place. Both numbers can then look equal. */
const roundedComparisons = (source: string): readonly string[] =>
  (source.match(/`[^`]*`/g) ?? []).filter(
    text =>
      /\b(at most|at least|more than|less than|above|below)\b/.test(text) &&
      /\$\{[^}]*(toFixed|Math\.(round|floor|ceil)|divideHalfEven)\(/.test(text),
  )

it('no other message rounds a number that it compares', () => {
  expect(roundedComparisons(['`asks for $', '{a.toFixed(3)} kWh, at most 3 kWh`'].join(''))).toHaveLength(1)
  const files = globSync(
    'services/{domain,contract,platform,query-service,ingest-gateway,cost-worker,background}/**/*.ts',
  )
  expect(files.length).toBeGreaterThan(500)
  const found = files.flatMap(file => roundedComparisons(readFileSync(file, 'utf8')).map(text => `${file}: ${text}`))
  expect(found).toEqual([])
  const callers = files.filter(file => readFileSync(file, 'utf8').includes('= comparedDecimals('))
  expect(callers.map(file => file.split('/').at(-1)).sort()).toEqual([
    'account-brand.ts',
    'failing-share.ts',
    'refuse-infeasible.ts',
  ])
})
