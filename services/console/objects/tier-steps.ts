import { type Html, html } from '../../web/ui-kit/html.ts'
import { chartFrame, percentOf } from '../kit/chart-frame.ts'

/** Tier of a price. `to`: its last energy in kWh; null for the last tier. */
export type TierStep = { readonly to: number | null; readonly price: number; readonly text: string }

const maxLabels = 8
/** Width of the picture: the last tier has no end, so it is drawn up to this multiple of its start. */
const drawnEnd = 1.3

/** Draw the tiers of a price as steps over the energy. The tiers ascend. Their texts are in the legend of the page. */
export const tierSteps = (label: string, unit: string, tiers: readonly TierStep[]): Html => {
  const ends = tiers.flatMap(({ to }) => (to === null ? [] : [to]))
  const width = Math.max(1, (ends.at(-1) ?? 0) * drawnEnd)
  const every = Math.ceil((ends.length + 1) / maxLabels)
  const labels = [0, ...ends]
    .filter((_, index) => index % every === 0)
    .map(kwh => ({ at: kwh / width, text: `${kwh.toLocaleString('en')} kWh` }))
  return chartFrame({ label, unit, values: tiers.map(({ price }) => price), labels, now: null }, ({ yOf }) =>
    tiers.map(({ to, price, text }, index) => {
      const [from, end] = [(ends[index - 1] ?? 0) / width, (to ?? width) / width]
      const [y, bottom] = [yOf(Math.max(price, 0)), yOf(Math.min(price, 0))]
      return html`<rect class="tone-0" x="${percentOf(from)}" width="${percentOf(end - from)}" y="${y.toFixed(1)}" height="${Math.max(bottom - y, 1).toFixed(1)}"><title>${text}</title></rect>`
    }),
  )
}
