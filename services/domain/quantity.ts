/** Energy in 1e-6 Wh. */
export type Energy = bigint
/** Money in 1e-9 of the currency's major unit. */
export type Money = bigint
/** Price in 1e-9 of the currency's major unit per kWh. Energy (1e-6 Wh = 1e-9 kWh) × price / 1e9 = money. */
export type Price = bigint
