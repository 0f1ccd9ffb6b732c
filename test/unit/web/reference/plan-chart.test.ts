import { describe, expect, it } from 'vitest'
import { planChart } from '../../../../services/web/reference/plan-chart.ts'

const at = (hour: number): string => `2025-09-14T${String(hour).padStart(2, '0')}:00:00+02:00`
const piece = (from: number, to: number, value: number, units = 'KW') => ({
  start_time: at(from),
  end_time: at(to),
  power: { units, value },
})

describe('the picture of a plan', () => {
  it('adds the power of all devices, over all of their windows', () => {
    const { bars, description, offsetMinutes, unit } = planChart('plan', {
      location_timezone: 'Europe/Berlin',
      data: [
        { start_time: at(0), end_time: at(6), schedule: [piece(2, 4, 3)] },
        { start_time: at(1), end_time: at(5), schedule: [piece(3, 5, 1500, 'W')] },
      ],
    })
    const midnight = Date.parse(at(0))
    expect(bars.map(({ start, value, isMarked: marked }) => [(start - midnight) / 3_600_000, value, marked])).toEqual([
      [0, 0, false],
      [1, 0, false],
      [2, 3, true],
      [3, 4.5, true],
      [4, 1.5, true],
      [5, 0, false],
    ])
    expect([unit, offsetMinutes]).toEqual(['kW', 120])
    expect(description).toBe(
      'The devices together run at 3 kW from 02:00 to 03:00, 4.5 kW from 03:00 to 04:00, 1.5 kW from 04:00 to 05:00.',
    )
  })
})
