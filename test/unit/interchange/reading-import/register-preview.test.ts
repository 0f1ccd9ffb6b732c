import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { RegisterRule } from '../../../../services/domain/record/reading-rules.ts'
import type { CheckedReading } from '../../../../services/interchange/reading-import/check-readings.ts'
import { previewRegisters } from '../../../../services/interchange/reading-import/register-preview.ts'

const lifetime: RegisterRule = { kind: 'LIFETIME', digits: null, maxPower: null }
const hourMs = 3_600_000

/** Reading of an hour, in kWh. Its line is two after its position. */
const checked = (hour: number, kwh: number, rule: RegisterRule | null, device = 'meter'): CheckedReading => ({
  reading: {
    line: hour + 2,
    isRegister: true,
    isRestart: false,
    location: { id: 'loc' },
    device: { reference: device },
    sessionReferenceId: null,
    recordReferenceId: null,
    directions: null,
    units: 'KWH',
    value: String(kwh),
    confidence: null,
    start: hour * hourMs,
    end: hour * hourMs,
  },
  register: { value: BigInt(kwh) * 1_000_000_000n, rule },
})

it('a fall of a register is refused, and its energies are those between the readings', async () => {
  const preview = previewRegisters()
  const refused = await preview.add([100, 103, 90, 94].map((kwh, hour) => checked(hour, kwh, null)))
  expect(refused).toMatchObject([{ line: 4, field: 'register', code: 'register_decreased' }])
  // 103 - 100 = 3 kWh, and 94 - 90 = 4 kWh.
  expect(preview.energies()).toEqual([
    { direction: 'IMPORT', start: 0, energy: 3_000_000_000n },
    { direction: 'IMPORT', start: 2 * hourMs, energy: 4_000_000_000n },
  ])
})

it('a later call decides that a fall of a register that only counts up is a dip, and names it once', async () => {
  const preview = previewRegisters()
  const [first, fall, next, last] = [100, 0, 107, 108].map((kwh, hour) => checked(hour, kwh, lifetime))
  const refused = [
    await preview.add([first, fall] as CheckedReading[]),
    await preview.add([next, last] as CheckedReading[]),
  ]
  expect(refused.map(rows => rows.map(({ line, code }) => [line, code]))).toEqual([[[3, 'register_decreased']], []])
  // 107 - 100 = 7 kWh, and 108 - 107 = 1 kWh.
  expect(preview.energies().map(({ start, energy }) => [start, energy])).toEqual([
    [0, 7_000_000_000n],
    [2 * hourMs, 1_000_000_000n],
  ])
})

it('the energies of two registers are those of each alone, however the readings are divided into calls', async () => {
  const values = fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 1, maxLength: 20 })
  const sizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 40, maxLength: 40 })
  const energiesOf = async (parts: readonly (readonly CheckedReading[])[]) => {
    const preview = previewRegisters()
    for (const part of parts) await preview.add(part)
    return preview.energies().toSorted((a, b) => a.start - b.start || Number(a.energy - b.energy))
  }
  await fc.assert(
    fc.asyncProperty(values, values, sizes, fc.constantFrom(null, lifetime), async (one, other, cuts, rule) => {
      const [ofOne, ofOther] = [one, other].map((kwhs, register) =>
        kwhs.map((kwh, hour) => checked(hour, kwh, rule, `meter-${register}`)),
      ) as [CheckedReading[], CheckedReading[]]
      const mixed = [...ofOne, ...ofOther].toSorted((a, b) => a.reading.line - b.reading.line)
      const parts = cuts.map((size, index) => {
        const from = cuts.slice(0, index).reduce((sum, before) => sum + before, 0)
        return mixed.slice(from, from + size)
      })
      const alone = [...(await energiesOf([ofOne])), ...(await energiesOf([ofOther]))]
      expect(await energiesOf(parts)).toEqual(
        alone.toSorted((a, b) => a.start - b.start || Number(a.energy - b.energy)),
      )
    }),
  )
})
