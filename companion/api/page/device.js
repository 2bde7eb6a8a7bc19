// What the page is looked at with. Each of them can change: windows are made narrower, keyboards attached.

/** Room for little more than the conversation. */
export const NARROW = matchMedia("(max-width: 40rem)");
/** Room for the list beside it. */
export const WIDE = matchMedia("(min-width: 56rem)");
/** A finger points, and there is no keyboard but the one on the screen. */
export const TOUCH = matchMedia("(pointer: coarse)");
