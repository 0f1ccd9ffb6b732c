import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { kindNamed, simulateMarket } from '../../support/markets/market-simulator.ts'
import { runCommand } from '../../support/system/run-command.ts'

const folder = mkdtempSync(join(tmpdir(), 'wattledger-backtest-'))
afterAll(() => rmSync(folder, { recursive: true }))

const firstDay = Date.UTC(2024, 0, 1) / 86_400_000
const prices = simulateMarket(kindNamed('hydro'), 2, firstDay, 120)
const at = (hour: number): string => new Date(firstDay * 86_400_000 + hour * 3_600_000).toISOString()
const rows = (time: (hour: number) => string): string[] => Array.from(prices, (price, hour) => `${time(hour)},${price}`)

let files = 0
const run = (lines: readonly string[], ...words: readonly string[]) => {
  const path = join(folder, `prices-${++files}.csv`)
  writeFileSync(path, lines.join('\n'))
  return runCommand(['forecast', 'backtest', path, ...words], {})
}

describe('wattledger forecast backtest', () => {
  it('prints errors, errors of the naive forecast, their ratio and the confidence for five days', async () => {
    const { code, out } = await run(['time,price', ...rows(at)], '--days', '21')
    expect(code).toBe(0)
    expect(out).toMatch(/DAY AHEAD +HOURS +MAE +NAIVE MAE +RMAE +MEAN CONFIDENCE/)
    expect(out).toMatch(/^ {2}5 +\d+ +\d+\.\d{3} +\d+\.\d{3} +\d\.\d{3} +0\.\d{3}$/m)
    expect(out).toMatch(/forecasts +21, one per day/)
  })

  it('reports progress of long work, and writes plain JSON for scripts', async () => {
    const { out } = await run(['time,price', ...rows(at)], '--days', '61')
    expect(out).toContain('60 of 61 forecasts')
    const json = JSON.parse((await run(['time,price', ...rows(at)], '--days', '10', '--json')).out) as {
      days: { rmae: number }[]
    }
    expect(json).toMatchObject({ forecasts: 10, days: [1, 2, 3, 4, 5].map(day_ahead => ({ day_ahead })) })
    for (const { rmae } of json.days) expect(rmae).toBeGreaterThan(0)
  })

  it('reads any column, other separators, decimal commas, no header, no offset, rows without price', async () => {
    const answerOf = async (lines: readonly string[], ...words: string[]): Promise<unknown> =>
      JSON.parse((await run(lines, '--days', '3', '--json', ...words)).out)
    const wanted = await answerOf(['time,price', ...rows(at)])
    expect(await answerOf(rows(at))).toEqual(wanted)
    expect(
      await answerOf([',Price,Load', ...rows(hour => at(hour).slice(0, 19).replace('T', ' ')).map(row => `${row},7`)]),
    ).toEqual(wanted)
    const commas = Array.from(prices, (price, hour) => `"7";"${String(price).replace('.', ',')}";"${at(hour)}"`)
    expect(await answerOf(['x;eur;when', ...commas], '--time-column', 'when', '--price-column', '2')).toEqual(wanted)
    const withGap = await run(
      ['time,price', ...rows(at).map((row, hour) => (hour === 2_800 ? `${at(hour)},` : row))],
      '--days',
      '3',
    )
    expect(withGap.out).toMatch(/hours without a price +1$/m)
  })

  it('uses the days of the offsets in the file, or of a zone', async () => {
    const local = (hour: number): string => `${at(hour + 1).slice(0, 19)}+01:00`
    const own = JSON.parse((await run(rows(local), '--days', '3', '--json')).out) as object
    const zoned = JSON.parse((await run(rows(at), '--days', '3', '--json', '--zone', 'Africa/Lagos')).out) as object
    expect(own).toEqual(zoned)
  })

  it.each([
    ['a file without prices', ['time,price'], /contains no prices/],
    ['an invalid time', ['time,price', `${at(0)},1`, 'yesterday,2'], /Line 3: "yesterday" is not a time/],
    ['a date that does not exist', [`${at(0)},1`, '2025-02-30T00:00:00Z,2'], /Line 2/],
    ['an invalid price', [`${at(0)},1`, `${at(1)},cheap`], /Line 2: "cheap" is not a price/],
    ['a repeated time', [`${at(0)},1`, `${at(1)},1`, `${at(1)},2`], /Line 3 repeats the time of line 2/],
    ['offsets on some times only', [`${at(0)},1`, '2024-01-01 01:00,2'], /Line 2: the time has no UTC offset/],
    ['daily prices', [`${at(0)},1`, `${at(24)},2`], /1 to 60 minutes apart/],
    ['a short file', rows(at).slice(0, 24 * 13), /at least 14 days/],
  ])('refuses %s and names the line', async (_, lines, message) => {
    const { code, err } = await run(lines)
    expect(code).toBe(1)
    expect(err).toMatch(message)
  })

  it('refuses invalid arguments', async () => {
    expect((await run(rows(at), '--days', 'many')).err).toContain('--days must be a number of days')
    expect((await run(rows(at), '--zone', 'Mars/Base')).err).toContain('--zone must be an IANA name')
    expect((await run(['time,price', ...rows(at)], '--price-column', 'cost')).err).toContain(
      '--price-column must be one of time, price',
    )
    expect((await runCommand(['forecast', 'backtest', join(folder, 'none.csv')], {})).err).toContain('There is no file')
    expect((await runCommand(['forecast', 'backtest', '--help'], {})).out).toContain('FILE.csv')
  })
})
