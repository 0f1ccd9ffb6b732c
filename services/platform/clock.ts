/** Tell the present instant in milliseconds: the one place that reads the machine's clock. */
export const currentInstant = (): number => Date.now()
