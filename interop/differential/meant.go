package differential

// meant are the differences that are meant, each with its reason.
var meant = []meaning{}
