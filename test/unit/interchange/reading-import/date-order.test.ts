import { describe, expect, it } from 'vitest'
import { findPreset } from '../../../../services/interchange/reading-import/find-preset.ts'

const file = (...times: readonly string[]) =>
  Buffer.from(['Time,System Production (W)', ...times.map(time => `${time},1000`), ''].join('\n'))

describe('the order of day and month in a file of SolarEdge', () => {
  it.each([
    ['MM/dd/yyyy HH:mm', ['01/02/2026 00:00', '01/13/2026 00:00']],
    ['dd/MM/yyyy HH:mm', ['01/02/2026 00:00', '13/01/2026 00:00']],
  ])('is %s if a day above 12 proves it', (format, times) => {
    expect(findPreset(file(...times), {}).options['date-format']).toBe(format)
  })

  it.each([
    ['no day above 12', ['01/02/2026 00:00', '02/02/2026 00:00']],
    ['days above 12 in both places', ['13/01/2026 00:00', '01/13/2026 00:00']],
  ])('is refused with %s, and the message names --date-format', (_, times) => {
    expect(() => findPreset(file(...times), {})).toThrow("--date-format 'dd/MM/yyyy HH:mm'")
    expect(() => findPreset(file(...times), { preset: 'solaredge' })).toThrow('--date-format')
  })

  it('is that of --date-format', () => {
    const options = { 'date-format': 'dd/MM/yyyy HH:mm' }
    expect(findPreset(file('01/02/2026 00:00'), options).options['date-format']).toBe('dd/MM/yyyy HH:mm')
  })
})
