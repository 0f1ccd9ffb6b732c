/** Return the current instant in ms. No other file reads the clock of the machine. */
export const currentInstant = (): number => Date.now()
