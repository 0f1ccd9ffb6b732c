// Shifts the clock of a Node process by CLOCK_SHIFT_MS. Load it with NODE_OPTIONS=--import.
const shiftMs = Number(process.env['CLOCK_SHIFT_MS'])
const machine = Date.now.bind(Date)

globalThis.Date = class extends Date {
  constructor(...values) {
    super(...(values.length === 0 ? [machine() + shiftMs] : values))
  }

  static now() {
    return machine() + shiftMs
  }
}
