import { describe, expect, it } from 'vitest'
import { openWorkThread } from '../../../../services/platform/work-thread/work-thread.ts'
import { discardWork, runWork, workThreadOptions } from '../../../../services/query-service/work-thread/run-work.ts'
import { acceptedValue } from '../../../support/accepted-value.ts'
import { forecastNow } from '../../../support/markets/forecast-now.ts'

const hourMs = 3_600_000
const end = Date.UTC(2026, 3, 1)
const count = 60 * 24
const starts = Array.from({ length: count }, (_, index) => end - (count - index) * hourMs)
const history = {
  starts,
  ends: starts.map(start => start + hourMs),
  values: starts.map((_, index) => 50_000_000 + 1_000_000 * ((index * 7) % 24)),
}
const interval = { start: end, end: end + 48 * hourMs }

describe('a forecast', () => {
  it('is the same in the work thread', async () => {
    await using thread = openWorkThread(workThreadOptions)
    const { signal } = new AbortController()
    const input = { history, timezone: 'Europe/Berlin', interval }
    const started = acceptedValue(
      await runWork(thread, { name: 'forecast', input, isSmall: false, account: '', signal }),
    )
    await discardWork(started)
    expect(started.head).toHaveLength(48)
    expect(started.head).toEqual(await forecastNow(history, 'Europe/Berlin', interval))
  })
})
