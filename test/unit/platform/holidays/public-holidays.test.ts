import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { writeDate } from '../../../../services/domain/civil-date.ts'
import { holidaySource, holidaySourceVersion } from '../../../../services/platform/holidays/public-holidays.ts'

const datesOf = async (country: string, state: string | null, year: number): Promise<readonly string[]> =>
  (await holidaySource())
    .publicHolidays(country, state)
    .map(({ day }) => writeDate(day))
    .filter(date => date.startsWith(String(year)))

describe('the public holidays of a country', () => {
  it('are those that its law names', async () => {
    const days = [
      '01-01',
      '04-02',
      '04-03',
      '04-05',
      '04-06',
      '05-01',
      '05-14',
      '05-17',
      '05-24',
      '05-25',
      '12-25',
      '12-26',
    ]
    expect(await datesOf('NO', null, 2026)).toEqual(days.map(day => `2026-${day}`))
    const german = ['01-01', '04-03', '04-06', '05-01', '05-14', '05-25', '10-03', '12-25', '12-26']
    expect(await datesOf('DE', null, 2026)).toEqual(german.map(day => `2026-${day}`))
    const bavarian = [...german, '01-06', '06-04', '11-01'].toSorted()
    expect(await datesOf('DE', 'BY', 2026)).toEqual(bavarian.map(day => `2026-${day}`))
  })

  it('include each day of holidays that last several days, in order and once', async () => {
    const days = await datesOf('TR', null, 2026)
    // The feast of Ramadan has 3 days from 20 March, the feast of sacrifice 4 days from 27 May.
    const feasts = ['03-20', '03-21', '03-22', '05-27', '05-28', '05-29', '05-30'].map(day => `2026-${day}`)
    expect(days.filter(day => day >= '2026-03-01' && day < '2026-06-01')).toEqual(
      [...feasts, '2026-04-23', '2026-05-01', '2026-05-19'].toSorted(),
    )
    expect(days).toEqual([...new Set(days)].toSorted())
  })

  it('are known from 2000 to 2040', async () => {
    const counts = await Promise.all(
      [1999, 2000, 2040, 2041].map(async year => (await datesOf('GB', null, year)).length),
    )
    expect(counts.map(count => count > 0)).toEqual([false, true, true, false])
  })
})

describe('a state', () => {
  it('is found by its code or one of its names', async () => {
    const { stateCode, hasCountry } = await holidaySource()
    const found = ['BY', 'by', 'Bayern', ' bavaria '].map(text => stateCode('DE', text))
    expect(found.slice(0, 3)).toEqual(['BY', 'BY', 'BY'])
    expect([stateCode('US', 'California'), stateCode('DE', 'Atlantis'), stateCode('ZZ', 'BY')]).toEqual([
      'CA',
      null,
      null,
    ])
    expect([hasCountry('DE'), hasCountry('ZZ')]).toEqual([true, false])
  })
})

it('names the version of its package, because stored calendars name it', () => {
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: Record<string, string> }
  expect(holidaySourceVersion).toBe(dependencies['date-holidays'])
})
