import { styleText } from 'node:util'

type Style = Parameters<typeof styleText>[0]

/** Colour a text if the terminal supports colours. */
export const paint = (style: Style, text: string): string => styleText(style, text)

const isTerminal = process.stdout.isTTY === true

export const print = (line = ''): void => {
  process.stdout.write(`${line}\n`)
}

export const heading = (title: string, note = ''): void => {
  print()
  print(`  ${paint('bold', title)}${note === '' ? '' : `  ${paint('dim', note)}`}`)
  print()
}

export const whole = (value: number): string => Math.round(value).toLocaleString('en')

/** Format an energy as kWh, or as MWh from 10 MWh on. */
export const energyText = (energyWh: number): string =>
  energyWh >= 1e7
    ? `${(energyWh / 1e6).toFixed(2)} MWh`
    : `${(energyWh / 1_000).toLocaleString('en', { maximumFractionDigits: 0 })} kWh`

export const money = (value: number, currency = 'EUR'): string =>
  `${value.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })} ${currency}`

/** Format the average cost of a kWh. */
export const meanPrice = (cost: number, energyWh: number, currency = 'EUR'): string =>
  energyWh === 0 || cost === 0 ? '–' : `${((cost * 1_000) / energyWh).toFixed(4)} ${currency}`

/** Print a table. The first column is aligned left, the others right. A null row is a horizontal line. */
export const printTable = (head: readonly string[], rows: readonly (readonly string[] | null)[]): void => {
  const cells = [head, ...rows.filter(row => row !== null)]
  const widths = head.map((_, column) => Math.max(...cells.map(row => [...(row[column] ?? '')].length)))
  const format = (row: readonly string[]): string =>
    row
      .map((cell, column) => {
        const gap = ' '.repeat((widths[column] ?? 0) - [...cell].length)
        return column === 0 ? cell + gap : gap + cell
      })
      .join('   ')
  print(`  ${paint('dim', format(head))}`)
  for (const row of rows)
    print(row === null ? `  ${paint('dim', '─'.repeat(format(head).length))}` : `  ${format(row)}`)
}

const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/** Draw a bar of up to `width` characters, in steps of an eighth of a character. */
export const bar = (share: number, width: number): string => {
  const steps = Math.round(Math.min(1, Math.max(0, share)) * width * 8)
  return '█'.repeat(Math.floor(steps / 8)) + (eighths[steps % 8] ?? '')
}

const levels = '▁▂▃▄▅▆▇█'

/** Draw a line of small bars, one for each value. */
export const sparkline = (values: readonly number[]): string => {
  const low = Math.min(...values)
  const range = Math.max(...values) - low || 1
  return values.map(value => levels[Math.round(((value - low) / range) * (levels.length - 1))]).join('')
}

export type Progress = { readonly update: (done: number) => void; readonly end: (note: string) => void }

const barWidth = 32
const redrawMs = 80

/** Show the progress of some work: a moving bar on a terminal, else a line for each quarter. */
export const showProgress = (title: string, total: number, unit: string): Progress => {
  const startedAt = performance.now()
  let drawnAt = 0
  let quarter = 0
  const rate = (done: number): string =>
    `${whole((done / Math.max(1, performance.now() - startedAt)) * 1_000)} ${unit}/s`
  const name = title.padEnd(12)
  const drawBar = (done: number): void => {
    const share = total === 0 ? 1 : done / total
    const gauge = paint('cyan', bar(share, barWidth).padEnd(barWidth))
    process.stdout.write(
      `\r\x1b[2K  ${name} ${gauge} ${`${Math.floor(share * 100)} %`.padStart(5)}  ${paint('dim', rate(done))}`,
    )
  }
  return {
    update: done => {
      if (isTerminal && performance.now() - drawnAt > redrawMs) {
        drawnAt = performance.now()
        drawBar(done)
      }
      const reached = Math.floor((done / Math.max(1, total)) * 4)
      if (!isTerminal && reached > quarter && reached < 4) print(`  ${name} ${reached * 25} %  ${rate(done)}`)
      quarter = Math.max(quarter, reached)
    },
    end: note => {
      if (isTerminal) process.stdout.write('\r\x1b[2K')
      print(`  ${paint('green', '✓')} ${name} ${note}`)
    },
  }
}
