export const footer = "You receive this mail because your account is on the Pro plan.";
